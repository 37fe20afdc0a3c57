<?php
// The pages of e-commerce.

declare(strict_types=1);

require __DIR__ . '/common.php';

const MOST_LINES = 5;
const NEW_VISIT = ['region' => 1, 'model' => null, 'choices' => ['-', '-', '-'], 'cart' => [], 'customer' => null, 'shipping' => null,
    'billed' => false];

function ecommerce(string $name): ?Page
{
    $query = query();
    form();
    if (!resumed()) {
        if (session_status() === PHP_SESSION_ACTIVE) {
            session_regenerate_id(true);
        } else {
            begin();
        }
        $_SESSION = ['visit' => NEW_VISIT];
    }
    $_SESSION['used'] = time();
    // A request that is refused changes nothing.
    $visit = $_SESSION['visit'];
    $made = match ($name) {
        'index' => first($visit, $query),
        'search' => search($visit),
        'browse' => browse($visit),
        'browse_productline' => line($visit),
        'productdetail' => detail($visit),
        'customize1', 'customize2', 'customize3' => customize($visit, (int) substr($name, -1)),
        'cart' => cart($visit),
        'login' => $_SERVER['REQUEST_METHOD'] === 'POST' ? log_in($visit) : login_form($visit),
        'shipping' => shipping($visit),
        'billing' => billing($visit),
        'confirm' => confirm($visit),
    };
    $_SESSION['visit'] = $visit;
    return $made;
}

function page(string $name, array $visit): Page
{
    return new Page($name, "Shop: $name", $visit['customer']);
}

// The first page: localized by a redirection, or as the answer.
function first(array &$visit, array $query): ?Page
{
    if ($_SERVER['REQUEST_METHOD'] === 'POST' && ($_SERVER['QUERY_STRING'] ?? '') === '') {
        $visit['region'] = number(form(), 'region', 1, 20);
        http_response_code(307);
        header('Location: /ecommerce/index.php?region=' . $visit['region']);
        header('Content-Length: 0');
        return null;
    }
    if (isset($query['region'])) {
        $visit['region'] = number($query, 'region', 1, 20);
    }
    return index($visit);
}

function index(array $visit): Page
{
    $region = (string) $visit['region'];
    $regions = needed(1, $region);
    $page = page('index', $visit);
    $page->html = "<h1>Welcome</h1>\n";
    $page->table($regions);
    foreach (['home', 'small offices', 'companies', 'schools'] as $index => $name) {
        $page->html .= '<a href="/ecommerce/browse.php?s=' . ($index + 1) . "\">$name</a>\n";
    }
    $page->rows = [[$region], ...$regions];
    return $page;
}

function search(array $visit): Page
{
    $found = needed(2, (string) number(query(), 'seg', 1, 5), (string) number(query(), 'kw', 1, 19), (string) $visit['region']);
    $page = page('search', $visit);
    $page->html = "<h1>Results</h1>\n";
    $page->table($found);
    foreach ($found as [$model, $line, , $price]) {
        $page->row($model, $line, $price);
    }
    return $page;
}

function browse(array $visit): Page
{
    $kind = (string) number(query(), 's', 1, 4);
    $lines = needed(3, $kind, (string) $visit['region']);
    $page = page('browse', $visit);
    $page->html = "<h1>Product lines</h1>\n";
    $page->table($lines);
    $page->row($kind);
    $page->row(...array_column($lines, 0));
    return $page;
}

function line(array $visit): Page
{
    $models = needed(4, (string) number(query(), 'p', 1, 999999999), (string) $visit['region']);
    $page = page('browse_productline', $visit);
    $page->html = "<h1>Models</h1>\n";
    foreach ($models as [$model, $name, $price, $image]) {
        $page->html .= '<p>' . escaped($name) . " $price</p>\n";
        $page->products[] = $image;
        $page->row($model, $price);
    }
    return $page;
}

function detail(array $visit): Page
{
    $model = (string) number(query(), 'i', 0, 999999999);
    $lines = needed(5, $model, (string) $visit['region']);
    [$name, $price, $image] = array_shift($lines);
    $page = page('productdetail', $visit);
    $page->html = '<h1>' . escaped($name) . "</h1>\n";
    $page->table($lines);
    $page->products[] = $image;
    $page->rows = [[$model, $price], ...$lines];
    return $page;
}

// Choices are those of one model.
function choose(array &$visit, int $model): void
{
    if ($visit['model'] !== $model) {
        $visit['model'] = $model;
        $visit['choices'] = NEW_VISIT['choices'];
    }
}

function customize(array &$visit, int $stage): Page
{
    $model = number(form(), 'i', 0, 999999999);
    $from = number(form(), 'from', 0, 3);
    $chosen = $from === 0 ? null : matching(form(), 'o', '[0-4]{5}');
    $options = needed(6, (string) $model, (string) $stage);
    choose($visit, $model);
    if ($chosen !== null) {
        $visit['choices'][$from - 1] = $chosen;
    }
    $page = page("customize$stage", $visit);
    $page->html = "<h1>Options</h1>\n";
    $page->table($options);
    $page->rows = [[(string) $model, (string) $stage], $visit['choices'], ...$options];
    return $page;
}

function cart(array &$visit): Page
{
    $action = form()['action'] ?? '';
    if ($action === 'add') {
        $model = number(form(), 'i', 0, 999999999);
        $choice = matching(form(), 'o', '[0-4]{5}');
        if (count($visit['cart']) === MOST_LINES) {
            throw new BadRequest();
        }
        choose($visit, $model);
        $visit['choices'][2] = $choice;
        $visit['cart'][] = priced(['model' => $model, 'choices' => $visit['choices'], 'quantity' => 1], $visit['region']);
    } elseif ($action === 'update') {
        $line = number(form(), 'line', 0, 4);
        $quantity = number(form(), 'quantity', 1, 9);
        if (!isset($visit['cart'][$line])) {
            return index($visit);
        }
        $visit['cart'][$line] = priced(['quantity' => $quantity] + $visit['cart'][$line], $visit['region']);
    } else {
        throw new BadRequest();
    }
    $page = page('cart', $visit);
    foreach ($visit['cart'] as $line) {
        $fields = [(string) $line['model'], (string) $line['quantity'], money($line['total']), money($line['tax'])];
        $page->html .= '<p>' . implode(' ', $fields) . "</p>\n";
        $page->row(...$fields);
    }
    $page->row(money(cart_total($visit)));
    return $page;
}

// A line with its price as the back-end has it.
function priced(array $line, int $region): array
{
    $answer = needed(7, (string) $line['model'], ...[...$line['choices'], (string) $line['quantity'], (string) $region]);
    [$total, $tax] = array_map(cents(...), $answer[0]);
    return ['total' => $total, 'tax' => $tax] + $line;
}

function cart_total(array $visit): int
{
    return array_sum(array_column($visit['cart'], 'total')) + array_sum(array_column($visit['cart'], 'tax'));
}

function login_form(array $visit): Page
{
    $page = new Page('login', 'Shop: login');
    $page->html = "<h1>Log in</h1>\n";
    $page->form('/ecommerce/login.php', 'customer', 'password', 'new');
    $page->row('form');
    return $page;
}

function log_in(array &$visit): Page
{
    $form = form();
    $customer = number($form, 'customer', 0, 999999999);
    $password = matching($form, 'password', '.{1,64}');
    $given = match (matching($form, 'new', 'yes|no')) {
        'no' => null,
        'yes' => [plain($form, 'name'), plain($form, 'street'), plain($form, 'city'), state($form), zip($form), phone($form)],
    };
    if ($visit['cart'] === []) {
        return index($visit);
    }
    $known = asked(8, (string) $customer);
    if ($known === null || $known[0][0] !== md5($password)) {
        $page = page('login', $visit);
        $page->html = "<p>The customer or the password is wrong.</p>\n";
        $page->row('refused');
        return $page;
    }
    $visit['customer'] = $customer;
    $person = $given ?? array_slice($known[0], 1);
    $page = page('login', $visit);
    $page->html = "<h1>Welcome</h1>\n<p>" . implode("<br>\n", array_map(escaped(...), $person)) . "</p>\n";
    $page->row($given === null ? 'known' : 'new');
    $page->row(...$person);
    return $page;
}

function shipping(array &$visit): Page
{
    $form = form();
    [plain($form, 'street'), plain($form, 'city'), state($form), zip($form)];
    $method = (string) number($form, 'method', 1, 3);
    if ($visit['customer'] === null || $visit['cart'] === []) {
        return index($visit);
    }
    $shipping = needed(9, (string) $visit['customer'], $method);
    $visit['shipping'] = cents($shipping[0][0]);
    $page = page('shipping', $visit);
    $page->html = "<h1>Shipping</h1>\n";
    $page->table($shipping);
    $page->row($method, ...$shipping[0]);
    return $page;
}

// What the customer has to pay, once all of it is known.
function bill(array $visit): ?int
{
    $known = $visit['customer'] !== null && $visit['cart'] !== [] && $visit['shipping'] !== null;
    return $known ? cart_total($visit) + $visit['shipping'] : null;
}

function billing(array &$visit): Page
{
    $card = (string) number(form(), 'card', 1, 3);
    $number = matching(form(), 'number', '[0-9]{16}');
    $total = bill($visit);
    if ($total === null) {
        return index($visit);
    }
    $billed = needed(10, (string) $visit['customer'], $card, substr($number, -4));
    $visit['billed'] = true;
    $page = page('billing', $visit);
    $page->html = "<h1>Billing</h1>\n";
    $page->table($billed);
    $page->row($card, ...[...$billed[0], money($total)]);
    return $page;
}

function confirm(array &$visit): Page
{
    matching(form(), 'order', 'yes');
    $total = bill($visit);
    if ($total === null || !$visit['billed']) {
        return index($visit);
    }
    $order = needed(11, (string) $visit['customer'], money($total))[0][0];
    // The customer stays known; everything else begins anew.
    $visit = ['region' => $visit['region'], 'customer' => $visit['customer']] + NEW_VISIT;
    $page = page('confirm', $visit);
    $page->html = "<h1>Thank you</h1>\n<p>$order</p>\n";
    $page->row($order, money($total));
    return $page;
}
