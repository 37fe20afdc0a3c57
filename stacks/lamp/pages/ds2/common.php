<?php
// What all pages of the shop share: fields of the request, the database, and the frame of a page.
//
// A page is a function that returns its body; answer() runs it and sends what it returns, or says why there is none. Nothing is sent before
// a page is complete, so that a status always tells the truth.

declare(strict_types=1);

const CATEGORIES = ['Action', 'Animation', 'Children', 'Classics', 'Comedy', 'Documentary', 'Drama', 'Family', 'Foreign', 'Games', 'Horror',
    'Music', 'New', 'Sci-Fi', 'Sports', 'Travel'];
const CARD_TYPES = [1 => 'MasterCard', 'Visa', 'Discover', 'Amex', 'Dell Preferred'];

// Longest text that a column holds, in characters; longer input is cut, as the original's database does.
const MAX_TEXT = 50;
// Range of an INT column.
const MAX_INT = 2147483647;

// A request that no page can be made of.
final class BadRequest extends Exception
{
}

// Send the page that $page returns.
function answer(callable $page): void
{
    $status = 200;
    try {
        check_request();
        $body = $page();
    } catch (BadRequest $error) {
        $status = 400;
        $body = notice('This request cannot be understood', $error->getMessage());
    } catch (mysqli_sql_exception $error) {
        $status = 503;
        error_log('the database failed: ' . $error->getCode() . ' ' . $error->getMessage());
        $body = notice('The shop is too busy', 'The database failed, and this page could not be made. Please try again in a second.');
    }
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    header('Content-Length: ' . strlen($body));
    echo $body;
}

// Refuse a request of which PHP may have dropped fields: it reads as many as its limit allows, and the rest of an order would be missing.
function check_request(): void
{
    $limit = (int) ini_get('max_input_vars');
    if (count($_GET, COUNT_RECURSIVE) + count($_POST, COUNT_RECURSIVE) >= $limit) {
        throw new BadRequest("A request must have fewer than $limit fields.");
    }
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
    if (!is_string($value)) {
        throw new BadRequest("The field $name must have one value.");
    }
    return checked($name, $value);
}

// Refuse bytes that are no text.
function checked(string $name, string $value): string
{
    if (preg_match('/^[^\x00]*$/Du', $value) !== 1) {
        throw new BadRequest("The field $name must be UTF-8 text.");
    }
    return $value;
}

// The field $name, not longer than a column; $length characters at most.
function short_text(string $name, int $length = MAX_TEXT): string
{
    return cut(text($name), $length);
}

// The first $length characters of a text.
function cut(string $text, int $length = MAX_TEXT): string
{
    // Few texts are long, and as many bytes are at most as many characters.
    if (strlen($text) <= $length) {
        return $text;
    }
    preg_match('/^.{0,' . $length . '}/su', $text, $found);
    return $found[0];
}

// The field $name as a whole number; null when it is missing or none.
function number(string $name): ?int
{
    return whole(text($name));
}

// A text as a whole number; null when it is none, or has more digits than an integer.
function whole(string $text): ?int
{
    return preg_match('/^\s*[+-]?[0-9]{1,18}\s*$/D', $text) === 1 ? (int) trim($text) : null;
}

// The field $name as a whole number in the range of its column, as a lenient database takes it: the nearest number that fits.
function number_within(string $name, int $least, int $greatest): ?int
{
    $number = number($name);
    return $number === null ? null : max($least, min($greatest, $number));
}

// All values of the array $name in order; what is no whole number becomes null.
function numbers(string $name): array
{
    $values = [];
    foreach ([$_GET, $_POST] as $source) {
        $array = $source[$name] ?? [];
        if (!is_array($array)) {
            throw new BadRequest("The field $name must be sent as {$name}[].");
        }
        foreach ($array as $value) {
            if (!is_string($value)) {
                throw new BadRequest("The field {$name}[] must have whole numbers for values.");
            }
            $values[] = whole($value);
        }
    }
    return $values;
}

// --- The database -------------------------------------------------------------------------------

// The connection of this request.
function database(): mysqli
{
    static $connection = null;
    if ($connection === null) {
        $settings = settings();
        $connection = mysqli_init();
        // Set before connecting, these cost no round trip.
        $connection->options(MYSQLI_SET_CHARSET_NAME, 'utf8mb4');
        $connection->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, true);
        // The database is behind a socket of this guest, or in another guest.
        $host = ($settings['persistent'] ? 'p:' : '') . ($settings['host'] ?? 'localhost');
        $connection->real_connect($host, $settings['user'], $settings['password'], $settings['database'], $settings['port'] ?? null, $settings['socket']);
    }
    return $connection;
}

// Run a statement whose every ? stands for a value.
//
// Values are bound here, as PDO does by default, which saves the round trip that the server's own prepared statements take. A number cannot inject
// anything, since PHP guarantees its type; a text is quoted by the client library for the character set of the connection, after text() has made
// sure that it is valid in it.
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

// --- Money, in whole cents ----------------------------------------------------------------------

function cents(string $amount): int
{
    return (int) str_replace('.', '', $amount);
}

function money(int $cents): string
{
    return sprintf('%d.%02d', intdiv($cents, 100), $cents % 100);
}

// --- HTML ---------------------------------------------------------------------------------------

// Text from elsewhere, for content and for quoted attributes.
function h(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_HTML5, 'UTF-8');
}

// A whole page.
function page(string $title, string $body): string
{
    return "<!DOCTYPE html>\n<HTML>\n<HEAD><META CHARSET=utf-8><TITLE>$title</TITLE>\n" . STYLE . "</HEAD>\n<BODY>\n"
        . "<H1 ALIGN=CENTER>DVD Store</H1>\n$body<HR>\n<P ALIGN=CENTER><SMALL>An emulated shop. Nothing is sold here.</SMALL></P>\n"
        . "</BODY>\n</HTML>\n";
}

// A page that says why there is no other.
function notice(string $heading, string $sentence): string
{
    return page('DVD Store', "<H2>$heading</H2>\n<P>" . h($sentence) . "</P>\n");
}

function form(string $name): string
{
    return "<FORM ACTION=\"./$name.php\" METHOD=GET>\n";
}

function submit(string $label): string
{
    return "<INPUT TYPE=SUBMIT VALUE=\"$label\">\n</FORM>\n";
}

// A hidden field with a number, not quoted, as the original writes it.
function hidden(string $name, int $value): string
{
    return "<INPUT TYPE=HIDDEN NAME=$name VALUE=$value>\n";
}

function field(string $label, string $type, string $name, string $value): string
{
    return "$label <INPUT TYPE=$type NAME=\"$name\" VALUE=\"" . h($value) . "\" MAXLENGTH=50><BR>\n";
}

// The options of a list; what is sent is the key. Keys and labels are our own.
function options(array $options, int|string|null $chosen): string
{
    $html = '';
    foreach ($options as $value => $label) {
        $selected = $value === $chosen ? ' SELECTED' : '';
        $html .= "<OPTION VALUE=\"$value\"$selected>$label</OPTION>\n";
    }
    return $html;
}

// The login form and the way to become a customer.
function login_form(): string
{
    return "<P>Returning customer? Please enter your user name and password:</P>\n" . form('dslogin')
        . field('Username', 'TEXT', 'username', '') . field('Password', 'PASSWORD', 'password', '') . submit('Login')
        . "<P>New here?</P>\n" . form('dsnewcustomer') . submit('New Customer');
}

// The request came without a customer.
function not_logged_in(): string
{
    return page('DVD Store', "<H2>You have not logged in - Please click below to Login to DVD Store</H2>\n" . login_form());
}

const STYLE = <<<'CSS'
<STYLE>
BODY { font: 16px/1.5 Georgia, serif; max-width: 54em; margin: 0 auto; padding: 1em; color: #2b2724; background: #f7f4ee }
H1 { margin: 0 0 .6em; padding: .3em; color: #fff; background: #7a1f1f; letter-spacing: .12em; border-radius: 4px }
H2, H3 { color: #7a1f1f; margin: .8em 0 .4em }
FORM { margin: .6em 0 }
TABLE { border-collapse: collapse; background: #fff; border: 1px solid #cbbfae }
TD, TH { padding: .25em .8em; border: 1px solid #e0d8ca; text-align: left }
TH { background: #efe7da }
INPUT, SELECT { font: inherit; margin: .1em .2em; padding: .1em .4em }
INPUT[TYPE=SUBMIT] { color: #fff; background: #7a1f1f; border: 0; border-radius: 4px; padding: .3em 1em; cursor: pointer }
HR { border: 0; border-top: 1px solid #cbbfae; margin-top: 2em }
</STYLE>

CSS;
