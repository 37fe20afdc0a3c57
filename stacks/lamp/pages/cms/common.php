<?php
// What all pages of the site share: fields of the request, the database, sessions, and the frame of a page.
//
// A page is a function that returns the whole page, or nothing where it has redirected; serve() runs it and sends what it returns, or says why
// there is none. Nothing is sent before a page is complete, so that a status always tells the truth.

declare(strict_types=1);

const COOKIE = 'RKSID';
// How long after its last request a session is forgotten, seconds.
const SESSION_EXPIRY = 3600;
const NODES_PER_PAGE = 10;
// Most characters of a title, and most bytes of a text.
const MOST_TITLE = 200;
const MOST_BODY = 262144;
const KINDS = ['story', 'page'];

// There is no page: the status, and why.
final class Refusal extends Exception
{
    public function __construct(public int $status, public string $heading, string $sentence)
    {
        parent::__construct($sentence);
    }
}

function bad_input(): Refusal
{
    return new Refusal(400, 'Bad request', 'An argument is missing or malformed.');
}

function not_found(): Refusal
{
    return new Refusal(404, 'Not found', 'There is no such page.');
}

function forbidden(): Refusal
{
    return new Refusal(403, 'Access denied', 'Log in first.');
}

// Send the page that $page returns.
function serve(callable $page): void
{
    $status = 200;
    try {
        $method = $_SERVER['REQUEST_METHOD'];
        if ($method !== 'GET' && $method !== 'POST') {
            throw new Refusal(405, 'Method not allowed', 'GET and POST are answered here.');
        }
        $body = cached($page);
    } catch (Refusal $error) {
        $status = $error->status;
        $body = page($error->heading, null, notice($error->heading, $error->getMessage()));
    } catch (mysqli_sql_exception $error) {
        $status = 503;
        error_log('the database failed: ' . $error->getCode() . ' ' . $error->getMessage());
        $body = page('Site off-line', null, notice('Site off-line', 'The database failed. Please try again in a second.'));
    }
    if ($body === null) {
        return;
    }
    if (settings()['compression']) {
        header('Vary: Accept-Encoding');
        if (str_contains($_SERVER['HTTP_ACCEPT_ENCODING'] ?? '', 'gzip')) {
            header('Content-Encoding: gzip');
            $body = gzencode($body);
        }
    }
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    header('Content-Length: ' . strlen($body));
    echo $body;
}

// What $page returns. With the page cache on, pages that are read without a login are kept in a table until a node is created.
function cached(callable $page): ?string
{
    $visitor = visitor();
    if (!settings()['page_cache'] || $visitor !== null || $_SERVER['REQUEST_METHOD'] !== 'GET' || !defined('CACHEABLE')) {
        return $page();
    }
    $place = $_SERVER['REQUEST_URI'];
    $known = row('SELECT content FROM cached_pages WHERE place = ?', $place);
    if ($known !== null) {
        return $known['content'];
    }
    $content = $page();
    if (strlen($place) <= 200) {
        run('INSERT IGNORE INTO cached_pages (place, content) VALUES (?, ?)', $place, $content);
    }
    return $content;
}

// Answer with a redirect to a path of this site.
function redirect(string $to): ?string
{
    http_response_code(302);
    header('Content-Type: text/html; charset=utf-8');
    header('Content-Length: 0');
    header("Location: $to");
    return null;
}

// The settings that the guest's configuration gives the pages.
function settings(): array
{
    static $settings = null;
    return $settings ??= require __DIR__ . '/config.php';
}

// --- Fields -------------------------------------------------------------------------------------

// The field $name as text, empty when it is missing; a form's value counts more than the query's.
function text(string $name): string
{
    $value = $_POST[$name] ?? $_GET[$name] ?? '';
    if (!is_string($value) || preg_match('/^[^\x00]*$/Du', $value) !== 1) {
        throw bad_input();
    }
    return $value;
}

// The field $name as a whole number from 0; $default where it is missing.
function number(string $name, ?int $default = null): int
{
    $value = text($name);
    if ($value === '' && $default !== null) {
        return $default;
    }
    if (preg_match('/^[0-9]{1,9}$/D', $value) !== 1) {
        throw bad_input();
    }
    return (int) $value;
}

// --- The database -------------------------------------------------------------------------------

// The connection of this request.
function database(): mysqli
{
    static $connection = null;
    if ($connection === null) {
        $settings = settings();
        $made = mysqli_init();
        // Set before connecting, these cost no round trip.
        $made->options(MYSQLI_SET_CHARSET_NAME, 'utf8mb4');
        $made->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, true);
        $host = $settings['persistent'] ? 'p:localhost' : 'localhost';
        $made->real_connect($host, $settings['user'], $settings['password'], $settings['database'], null, $settings['socket']);
        $connection = $made;
    }
    return $connection;
}

// Run a statement whose every ? stands for a value, which is bound here: a server-side statement would take one more round trip.
function run(string $sql, int|string|null ...$values): mysqli_result|bool
{
    $parts = explode('?', $sql);
    $statement = array_shift($parts);
    foreach ($parts as $at => $part) {
        $value = $values[$at];
        $statement .= (is_string($value) ? "'" . database()->real_escape_string($value) . "'" : $value ?? 'NULL') . $part;
    }
    return database()->query($statement);
}

// All rows that a query answers.
function rows(string $sql, int|string|null ...$values): array
{
    return run($sql, ...$values)->fetch_all(MYSQLI_ASSOC);
}

// The first row that a query answers; null when there is none.
function row(string $sql, int|string|null ...$values): ?array
{
    return run($sql, ...$values)->fetch_assoc();
}

// --- Sessions -----------------------------------------------------------------------------------

// The session of the cookie; null where it is none that this site gave.
function session_of_cookie(): ?string
{
    $id = $_COOKIE[COOKIE] ?? '';
    return is_string($id) && preg_match('/^[0-9a-f]{32}$/D', $id) === 1 ? $id : null;
}

// Whom the request is from: session, account and name; null where no one is logged in. Sessions of visitors who are not logged in are kept as
// well where the settings say so, and every request then writes to one.
function visitor(): ?array
{
    static $asked = false;
    static $visitor = null;
    if ($asked) {
        return $visitor;
    }
    $asked = true;
    $id = session_of_cookie();
    $known = $id === null ? null : row(
        'SELECT s.id, s.account, a.name FROM sessions s LEFT JOIN accounts a ON a.id = s.account WHERE s.id = ? AND s.seen > ?',
        $id,
        time() - SESSION_EXPIRY,
    );
    if (settings()['anonymous_sessions']) {
        if ($known === null) {
            begin_session(null);
        } else {
            run('UPDATE sessions SET seen = ?, requests = requests + 1 WHERE id = ?', time(), $id);
        }
    }
    return $visitor = $known === null || $known['account'] === null ? null : $known;
}

// Who must be logged in.
function account(): array
{
    return visitor() ?? throw forbidden();
}

// Begin a session, of an account or of no one, and give it to the browser.
function begin_session(?int $account): void
{
    $id = bin2hex(random_bytes(16));
    run('INSERT INTO sessions (id, account, seen) VALUES (?, ?, ?)', $id, $account, time());
    header('Set-Cookie: ' . COOKIE . "=$id; path=/; HttpOnly");
}

function end_session(string $id): void
{
    run('DELETE FROM sessions WHERE id = ?', $id);
    header('Set-Cookie: ' . COOKIE . '=gone; path=/; max-age=0');
}

// What forms of a session carry, so that no other site can send them: it follows from what only the session's user knows.
function token(string $session): string
{
    return substr(hash('sha256', "form of $session"), 0, 32);
}

// --- HTML ---------------------------------------------------------------------------------------

// Text from elsewhere, for content and for quoted attributes.
function escaped(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_HTML401, 'UTF-8');
}

// Text with paragraphs as its only markup.
function filtered(string $text): string
{
    return str_replace(['&lt;p&gt;', '&lt;/p&gt;'], ['<p>', '</p>'], escaped($text));
}

// A page of this title around this content; $name is that of who is logged in.
function page(string $title, ?string $name, string $content): string
{
    $title = escaped($title);
    $class = $name === null ? 'anonymous' : 'logged-in';
    $menu = $name === null ? '<a href="/cms/login.php">Log in</a>'
        : escaped($name) . ' <a href="/cms/create.php?kind=story">Create a story</a> <a href="/cms/create.php?kind=page">Create a page</a>'
        . ' <a href="/cms/logout.php">Log out</a>';
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>$title</title>\n</head>\n<body class=\"$class\">\n"
        . "<nav><a href=\"/cms/index.php\">Front page</a> $menu</nav>\n<main>\n$content</main>\n</body>\n</html>\n";
}

// A heading and a sentence.
function notice(string $heading, string $sentence): string
{
    return '<h1>' . escaped($heading) . "</h1>\n<p>" . escaped($sentence) . "</p>\n";
}

// Who wrote a node, and when.
function byline(array $node): string
{
    return '<p>By ' . escaped($node['name']) . " at {$node['created']}</p>\n";
}
