<?php
// Log in: the form, the way to one's own page, the refusal.

declare(strict_types=1);

require __DIR__ . '/common.php';

// So many logins may fail within so many seconds, as in Drupal 7: from one address, and of one account from one address.
const FAILED_FROM_ADDRESS = [50, 3600];
const FAILED_OF_ACCOUNT = [5, 21600];

serve(function (): ?string {
    $visitor = visitor();
    if ($visitor !== null) {
        return redirect("/cms/user.php?id={$visitor['account']}");
    }
    if ($_SERVER['REQUEST_METHOD'] === 'GET') {
        return page('Log in', null, form(''));
    }
    $account = row('SELECT id, pass FROM accounts WHERE name = ?', text('name'));
    $blocked = blocked($account['id'] ?? null);
    if ($blocked !== null || $account === null || !fits($account['pass'], text('pass'))) {
        failed($account['id'] ?? null);
        if ($blocked !== null) {
            throw new Refusal(403, 'Login failed', "There were too many failed login attempts $blocked.");
        }
        return page('Log in', null, form("<p class=\"error\">Name and password do not fit together.</p>\n"));
    }
    forget_failures($account['id']);
    $before = session_of_cookie();
    if ($before !== null) {
        // The session of someone who was not logged in: its id may be known to others.
        run('DELETE FROM sessions WHERE id = ?', $before);
    }
    begin_session($account['id']);
    return redirect("/cms/user.php?id={$account['id']}");
});

// --- Limits on logins that fail, where the settings ask for them -------------------------------

// Whose logins have failed too often; null where they may go on. What is known of passwords does not matter then.
function blocked(?int $account): ?string
{
    if (!settings()['login_limits']) {
        return null;
    }
    [$most, $window] = FAILED_FROM_ADDRESS;
    $from_address = 'SELECT count(*) AS failed FROM failed_logins WHERE address = ? AND at > ?';
    if (row($from_address, $_SERVER['REMOTE_ADDR'], time() - $window)['failed'] >= $most) {
        return 'from this address';
    }
    [$most, $window] = FAILED_OF_ACCOUNT;
    $of_account = 'SELECT count(*) AS failed FROM failed_logins WHERE account = ? AND of_account = 1 AND address = ? AND at > ?';
    if ($account !== null && row($of_account, $account, $_SERVER['REMOTE_ADDR'], time() - $window)['failed'] >= $most) {
        return 'for this account';
    }
    return null;
}

// A login failed, of an account or of a name that no one has; one that was blocked has failed, too.
function failed(?int $account): void
{
    if (settings()['login_limits']) {
        run('INSERT INTO failed_logins (address, account, at) VALUES (?, ?, ?)', $_SERVER['REMOTE_ADDR'], $account, time());
    }
}

// A login went well: those of the account that failed count no more, but for the address.
function forget_failures(int $account): void
{
    if (settings()['login_limits']) {
        run('UPDATE failed_logins SET of_account = 0 WHERE account = ? AND address = ?', $account, $_SERVER['REMOTE_ADDR']);
    }
}

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
