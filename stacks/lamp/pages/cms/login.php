<?php
// Log in: the form, the way to one's own page, the refusal.

declare(strict_types=1);

require __DIR__ . '/common.php';

serve(function (): ?string {
    $visitor = visitor();
    if ($visitor !== null) {
        return redirect("/cms/user.php?id={$visitor['account']}");
    }
    if ($_SERVER['REQUEST_METHOD'] === 'GET') {
        return page('Log in', null, form(''));
    }
    $account = row('SELECT id, pass FROM accounts WHERE name = ?', text('name'));
    if ($account === null || !fits($account['pass'], text('pass'))) {
        return page('Log in', null, form("<p class=\"error\">Name and password do not fit together.</p>\n"));
    }
    $before = session_of_cookie();
    if ($before !== null) {
        // The session of someone who was not logged in: its id may be known to others.
        run('DELETE FROM sessions WHERE id = ?', $before);
    }
    begin_session($account['id']);
    return redirect("/cms/user.php?id={$account['id']}");
});

// Whether a password is that of its salt and hash.
function fits(string $stored, string $password): bool
{
    [$salt, $hash] = explode('$', $stored, 2) + ['', ''];
    return hash_equals($hash, hash('sha256', $salt . $password));
}

function form(string $message): string
{
    return "$message<form id=\"login\" method=\"post\" action=\"/cms/login.php\">\n<label>Name <input type=\"text\" name=\"name\"></label>\n"
        . "<label>Password <input type=\"password\" name=\"pass\"></label>\n<input type=\"submit\" value=\"Log in\">\n</form>\n";
}
