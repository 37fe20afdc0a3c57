<?php
// Create a node: the form, the node, or the form with what is wrong.

declare(strict_types=1);

require __DIR__ . '/common.php';

serve(function (): ?string {
    $visitor = account();
    $kind = text('kind');
    if (!in_array($kind, KINDS, true)) {
        throw bad_input();
    }
    $message = '';
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $wrong = wrong($visitor['id']);
        if ($wrong === null) {
            return redirect('/cms/node.php?id=' . create($kind, $visitor['account']));
        }
        $message = '<p class="error">' . escaped($wrong) . "</p>\n";
    }
    return page('Create a node', $visitor['name'], $message . form($kind, token($visitor['id'])));
});

// Why what was sent is no node; nothing where it is one.
function wrong(string $session): ?string
{
    if (!hash_equals(token($session), text('token'))) {
        return 'The form is not one of this session.';
    }
    if (trim(text('title')) === '') {
        return 'A title is needed.';
    }
    // No function of an extension counts characters here: those of UTF-8 begin with a byte that continues none.
    $characters = preg_match_all('/[^\x80-\xBF]/', trim(text('title')));
    return $characters > MOST_TITLE || strlen(text('body')) > MOST_BODY ? 'Title or text is too long.' : null;
}

// Store the node and give its id. Once the statement returns, the node is as safe as the settings of the database say.
function create(string $kind, int $author): int
{
    run(
        'INSERT INTO nodes (kind, title, body, author, created, promoted) VALUES (?, ?, ?, ?, ?, ?)',
        $kind,
        trim(text('title')),
        text('body'),
        $author,
        time(),
        $kind === 'story' ? 1 : 0,
    );
    $id = database()->insert_id;
    if (settings()['page_cache']) {
        run('DELETE FROM cached_pages');
    }
    return $id;
}

function form(string $kind, string $token): string
{
    return "<form id=\"create\" method=\"post\" action=\"/cms/create.php?kind=$kind\">\n<input type=\"hidden\" name=\"token\" value=\"$token\">\n"
        . "<label>Title <input type=\"text\" name=\"title\" maxlength=\"200\"></label>\n<label>Text <textarea name=\"body\"></textarea></label>\n"
        . "<input type=\"submit\" value=\"Save\">\n</form>\n";
}
