<?php
// What all pages of banking, e-commerce and support share: arguments, the back-end, files of the set, and the frame of a page.
//
// A page is a function that returns a Page; serve() runs it and sends what it returns, or says why there is none. Nothing is sent before a
// page is complete, so that a status always tells the truth.

declare(strict_types=1);

const COOKIE = 'RKSID';
const MOST_ARGUMENTS = 32;
const MOST_BYTES = 64;

// A request that no page can be made of.
final class BadRequest extends Exception
{
}

// The back-end did not answer. A write may or may not have been done.
final class NoBackend extends Exception
{
}

// A page before its padding: its name, its content, whom it is for, and the rows that it shows.
final class Page
{
    public string $html = '';
    public array $products = [];
    public array $rows = [];

    public function __construct(public string $name, public string $title, public ?int $id = null)
    {
    }

    public function row(string ...$fields): void
    {
        $this->rows[] = $fields;
    }

    public function table(array $rows): void
    {
        $this->html .= "<table>\n";
        foreach ($rows as $fields) {
            $cells = array_map(fn ($field) => '<td>' . escaped($field) . '</td>', $fields);
            $this->html .= '<tr>' . implode('', $cells) . "</tr>\n";
        }
        $this->html .= "</table>\n";
    }

    public function form(string $action, string ...$fields): void
    {
        $this->html .= "<form method=\"post\" action=\"$action\">\n";
        foreach ($fields as $field) {
            $this->html .= "<input name=\"$field\">\n";
        }
        $this->html .= "<input type=\"submit\">\n</form>\n";
    }
}

// The settings that the guest's configuration gives the pages.
function settings(): array
{
    static $settings = null;
    return $settings ??= require __DIR__ . '/config.php';
}

// Send what $page returns: a Page, or nothing where it has sent its answer itself.
function serve(callable $page): void
{
    try {
        if (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'POST'], true)) {
            header('Allow: GET, POST');
            text(405, 'GET and POST are answered here');
            return;
        }
        $made = $page();
        if ($made !== null) {
            $body = finished($made);
            header('Content-Type: text/html; charset=utf-8');
            header('Content-Length: ' . strlen($body));
            echo $body;
        }
    } catch (BadRequest) {
        text(400, 'an argument is missing or malformed');
    } catch (NoBackend) {
        header('Retry-After: 1');
        text(503, 'the back-end did not answer');
    }
}

function text(int $status, string $line): void
{
    http_response_code($status);
    header('Content-Type: text/plain; charset=utf-8');
    header('Content-Length: ' . (strlen($line) + 1));
    echo $line, "\n";
}

function escaped(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

// Whether the back-end can be reached, without which no page can be made.
function health(): ?Page
{
    backend(settings()['backend']);
    text(200, 'ok');
    return null;
}

// What is served here, and what the clock shows.
function init(): ?Page
{
    text(200, sprintf('rk init model=%s time_ms=%d', settings()['model'], (int) (microtime(true) * 1000)));
    return null;
}

// --- Pages --------------------------------------------------------------------------------------

// The whole page: with its fixed files, as much of its padding file as its length leaves room for, and its values. The padding file is read
// for every request: results must not be kept between them.
function finished(Page $page): string
{
    [$bytes, $folder, $numbers] = settings()['pages'][$page->name];
    $directory = settings()['directory'];
    $head = "<!DOCTYPE html>\n<html>\n<head>\n<title>" . escaped($page->title) . "</title>\n</head>\n<body>\n" . $page->html;
    foreach ($numbers as $number) {
        $head .= "<img src=\"/$directory/images/$folder$number\" alt=\"\">\n";
    }
    foreach ($page->products as $path) {
        $head .= '<img src="' . escaped($path) . "\" alt=\"\">\n";
    }
    $head .= "<pre class=\"pad\">\n";
    $id = $page->id ?? '-';
    $tail = "\n</pre>\n</body>\n</html>\n<!--rk page=$page->name id=$id v=" . values($page->rows) . "-->\n";
    $room = max(0, $bytes - strlen($head) - strlen($tail));
    $padding = file_get_contents(settings()['files'] . "/$directory/dynamic_padding/$page->name", false, null, 0, $room);
    return $head . $padding . $tail;
}

function values(array $rows): string
{
    $row = fn (array $fields) => implode(',', array_map(encoded(...), $fields));
    return $rows === [] ? 'none' : implode(';', array_map($row, $rows));
}

function encoded(string $field): string
{
    return preg_replace_callback('~[^0-9A-Za-z._/:]~', fn ($byte) => sprintf('%%%02X', ord($byte[0])), $field);
}

// --- Arguments ----------------------------------------------------------------------------------

// The arguments of a query, or of a form: decoded, bounded, of a repeated one the first.
function arguments(string $text): array
{
    $arguments = [];
    $pairs = array_filter(explode('&', $text), fn ($pair) => $pair !== '');
    if (count($pairs) > MOST_ARGUMENTS) {
        throw new BadRequest();
    }
    foreach ($pairs as $pair) {
        [$name, $value] = array_map(urldecode(...), explode('=', $pair, 2) + [1 => '']);
        if (!preg_match('/^[\x20-\x7e]{0,' . MOST_BYTES . '}$/D', $value)) {
            throw new BadRequest();
        }
        $arguments[$name] ??= $value;
    }
    return $arguments;
}

function query(): array
{
    static $query = null;
    return $query ??= arguments($_SERVER['QUERY_STRING'] ?? '');
}

function form(): array
{
    static $form = null;
    return $form ??= arguments($_SERVER['REQUEST_METHOD'] === 'POST' ? file_get_contents('php://input') : '');
}

// A value that must be there and match a pattern.
function matching(array $arguments, string $name, string $pattern): string
{
    $value = $arguments[$name] ?? throw new BadRequest();
    return preg_match("/^(?:$pattern)$/D", $value) ? $value : throw new BadRequest();
}

function number(array $arguments, string $name, int $least, int $most): int
{
    $number = (int) matching($arguments, $name, '[0-9]{1,9}');
    return $number >= $least && $number <= $most ? $number : throw new BadRequest();
}

function plain(array $arguments, string $name): string
{
    return matching($arguments, $name, '[^&<]{1,64}');
}

function payee(array $arguments, string $name): string
{
    return matching($arguments, $name, '[0-9A-Za-z]{1,20}');
}

function state(array $arguments): string
{
    return matching($arguments, 'state', '[A-Za-z]{2}');
}

function zip(array $arguments): string
{
    return matching($arguments, 'zip', '[0-9]{5}');
}

function phone(array $arguments): string
{
    return matching($arguments, 'phone', '[0-9-]{7,14}');
}

function email(array $arguments): string
{
    $email = plain($arguments, 'email');
    return strlen($email) >= 3 && substr_count($email, '@') === 1 ? $email : throw new BadRequest();
}

// A day that exists, of the years 1970 to 2099.
function day(array $arguments, string $name): string
{
    $day = matching($arguments, $name, '(19[7-9]|20[0-9])[0-9]{5}');
    $exists = checkdate((int) substr($day, 4, 2), (int) substr($day, 6, 2), (int) substr($day, 0, 4));
    return $exists ? $day : throw new BadRequest();
}

// An amount of money, more than none, as it was typed.
function amount(array $arguments, string $name): string
{
    $amount = matching($arguments, $name, '[0-9]{1,7}(\.[0-9]{2})?');
    return cents($amount) > 0 ? $amount : throw new BadRequest();
}

function cents(string $amount): int
{
    [$whole, $cents] = explode('.', $amount, 2) + [1 => '00'];
    return 100 * (int) $whole + (int) $cents;
}

function money(int $cents): string
{
    return sprintf('%d.%02d', intdiv($cents, 100), $cents % 100);
}

// --- The back-end -------------------------------------------------------------------------------

// Ask the back-end: its rows, each a list of fields, or nothing where it refuses. Nothing is asked twice: a write that was sent may have
// been done.
function asked(int $command, string ...$arguments): ?array
{
    $settings = settings();
    $target = '/besim?' . $settings['number'] . "&$command";
    foreach ($arguments as $argument) {
        $target .= '&' . rawurlencode($argument);
    }
    $socket = backend($settings['backend']);
    $request = "GET $target HTTP/1.1\r\nHost: {$settings['backend']}\r\n\r\n";
    if (@fwrite($socket, $request) !== strlen($request)) {
        fclose($socket);
        throw new NoBackend();
    }
    $body = reply($socket);
    if (!preg_match('~<pre>\n([01])\n(.*)</pre>~s', $body, $found)) {
        throw new NoBackend();
    }
    $lines = $found[2] === '' ? [] : explode("\n", rtrim($found[2], "\n"));
    return $found[1] === '0' ? array_map(fn ($line) => explode('&', $line), $lines) : null;
}

// What the back-end must not refuse to a request that makes sense.
function needed(int $command, string ...$arguments): array
{
    return asked($command, ...$arguments) ?? throw new BadRequest();
}

// A connection that this PHP process keeps; another one where the back-end has closed it since.
function backend(string $address)
{
    for ($try = 0; $try < 2; $try++) {
        [$host, $port] = explode(':', $address);
        $socket = @pfsockopen($host, (int) $port, $code, $why, 10);
        if ($socket === false) {
            break;
        }
        stream_set_timeout($socket, 10);
        $read = [$socket];
        $none = null;
        // Anything but silence is an end, or an answer that no one asked for.
        if (@stream_select($read, $none, $none, 0) === 0) {
            return $socket;
        }
        fclose($socket);
    }
    throw new NoBackend();
}

// The body of an answer with status 200.
function reply($socket): string
{
    $status = fgets($socket, 1024);
    $length = null;
    while (($line = fgets($socket, 8192)) !== false && $line !== "\r\n") {
        if (preg_match('/^content-length: *([0-9]{1,6})\r\n$/i', $line, $found)) {
            $length = (int) $found[1];
        }
    }
    $body = $length === null ? false : stream_get_contents($socket, $length);
    if ($status === false || $body === false || strlen($body) !== $length) {
        fclose($socket);
        throw new NoBackend();
    }
    return str_starts_with($status, 'HTTP/1.1 200 ') ? $body : throw new NoBackend();
}

// --- Sessions -----------------------------------------------------------------------------------

// Go on with the session of the request's cookie, if there is one.
function resumed(): bool
{
    if (!preg_match('/^[0-9A-Za-z,-]{22,64}$/D', $_COOKIE[COOKIE] ?? '')) {
        return false;
    }
    begin();
    return ($_SESSION['used'] ?? 0) >= time() - settings()['session_expiry_s'];
}

function begin(): void
{
    session_name(COOKIE);
    session_start(['use_strict_mode' => true, 'cookie_path' => '/', 'use_cookies' => true, 'cache_limiter' => '']);
}
