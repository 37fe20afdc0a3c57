<?php
// The pages of banking.

declare(strict_types=1);

require __DIR__ . '/common.php';

const MOST_PAYEES = 3;

function banking(string $name): ?Page
{
    if ($name === 'login') {
        return $_SERVER['REQUEST_METHOD'] === 'POST' ? log_in() : login_form();
    }
    query();
    form();
    if (!resumed() || !isset($_SESSION['user'])) {
        return login_form();
    }
    $_SESSION['used'] = time();
    $user = $_SESSION['user'];
    if (in_array($name, ['bill_pay', 'add_payee', 'billpay_status', 'chg_profile', 'req_checks', 'logout'], true)) {
        number(query(), 'userid', $user, $user);
    }
    return match ($name) {
        'account_summary' => rows($name, 3),
        'check_detail_html' => check_detail(),
        'check_image' => check_image(),
        'bill_pay' => rows($name, 5),
        'add_payee' => add_payee(),
        'payee_info' => rows($name, 6, payee(form(), 'payee_id'), plain(form(), 'name'), ...address(), ...[phone(form())]),
        'quick_pay' => quick_pay(),
        'billpay_status' => rows($name, 8, day(query(), 'start'), day(query(), 'end')),
        'chg_profile' => rows($name, 9),
        'post_profile' => rows($name, 10, ...address(), ...[email(form()), phone(form())]),
        'req_checks' => rows($name, 2),
        'post_chk_order' => order_checks(),
        'req_xfer_form' => rows($name, 2),
        'post_fund_xfer' => transfer(),
        'logout' => log_out(),
    };
}

function page(string $name): Page
{
    return new Page($name, "Bank: $name", $_SESSION['user'] ?? null);
}

function login_form(): Page
{
    $page = new Page('login', 'Bank: login');
    $page->html = "<h1>Log in</h1>\n";
    $page->form('/bank/login.php', 'userid', 'password');
    $page->row('form');
    return $page;
}

function log_in(): Page
{
    $user = number(form(), 'userid', 0, 999999999);
    $password = matching(form(), 'password', '.{1,64}');
    $known = asked(1, (string) $user);
    if ($known === null || $known[0][0] !== md5($password)) {
        $page = new Page('login', 'Bank: login');
        $page->html = "<p>The user or the password is wrong.</p>\n";
        $page->row('refused');
        return $page;
    }
    $accounts = needed(2, (string) $user);
    begin();
    session_regenerate_id(true);
    $_SESSION = ['user' => $user, 'used' => time()];
    $page = page('login');
    $page->html = "<h1>Welcome</h1>\n";
    $page->table($accounts);
    $page->rows = [['ok'], ...$accounts];
    return $page;
}

// What the back-end answers for the user, as a table.
function rows(string $name, int $command, string ...$arguments): Page
{
    $page = page($name);
    $page->rows = needed($command, (string) $_SESSION['user'], ...$arguments);
    $page->table($page->rows);
    return $page;
}

function address(): array
{
    return [plain(form(), 'street'), plain(form(), 'city'), state(form()), zip(form())];
}

function check_detail(): Page
{
    $check = number(query(), 'check_no', 1, 999999);
    [[$account]] = needed(4, (string) $_SESSION['user'], (string) $check);
    $page = page('check_detail_html');
    $page->html = "<h1>Check</h1>\n$account\n";
    foreach (['front', 'back'] as $side) {
        $page->html .= "<a href=\"/bank/check_image.php?side=$side&amp;check_no=$check\">$side</a>\n";
    }
    $page->row($account, sprintf('%06d', $check));
    return $page;
}

function check_image(): ?Page
{
    $side = ['front' => 1, 'back' => 2][query()['side'] ?? ''] ?? throw new BadRequest();
    $check = number(query(), 'check_no', 1, 999999);
    $file = settings()['files'] . needed(4, (string) $_SESSION['user'], (string) $check)[0][$side];
    session_write_close();
    if (!is_file($file)) {
        text(404, 'there is no such file');
        return null;
    }
    header('Content-Type: application/octet-stream');
    header('Content-Length: ' . filesize($file));
    readfile($file);
    return null;
}

function add_payee(): Page
{
    $page = page('add_payee');
    $page->html = "<h1>Add a payee</h1>\n";
    $page->form('/bank/payee_info.php', 'payee_id', 'name', 'street', 'city', 'state', 'zip', 'phone');
    $page->row('form');
    return $page;
}

// Every payment is right before the first goes to the back-end.
function quick_pay(): Page
{
    $payments = [];
    for ($index = 0; isset(form()["payee[$index]"]); $index++) {
        if ($index === MOST_PAYEES) {
            throw new BadRequest();
        }
        $payments[] = [payee(form(), "payee[$index]"), day(form(), "date[$index]"), amount(form(), "amount[$index]")];
    }
    if ($payments === []) {
        throw new BadRequest();
    }
    $page = page('quick_pay');
    $page->html = "<h1>Payments</h1>\n";
    foreach ($payments as [$payee, $date, $amount]) {
        $confirmation = asked(7, (string) $_SESSION['user'], $payee, $date, $amount)[0][0] ?? 'refused';
        $page->html .= "<p>$payee: $confirmation</p>\n";
        $page->row($payee, money(cents($amount)), $date, $confirmation);
    }
    return $page;
}

function order_checks(): Page
{
    $account = matching(form(), 'account_no', '[0-9]{10}');
    number(form(), 'design', 1, 5);
    $number = number(form(), 'number', 1, 1000);
    return rows('post_chk_order', 11, $account, settings()['today'], (string) $number);
}

function transfer(): Page
{
    $from = matching(form(), 'from', '[0-9]{10}');
    $to = matching(form(), 'to', '[0-9]{10}');
    $amount = amount(form(), 'amount');
    $moved = $from === $to ? null : asked(12, (string) $_SESSION['user'], $from, $to, $amount, settings()['today']);
    $page = page('post_fund_xfer');
    if ($moved === null) {
        $page->html = "<p>The transfer is refused.</p>\n";
        $page->row('refused');
        return $page;
    }
    $page->rows = $moved;
    $page->table($moved);
    return $page;
}

function log_out(): Page
{
    $page = page('logout');
    $page->html = "<h1>Good bye</h1>\n";
    $page->row('bye');
    $_SESSION = [];
    session_destroy();
    return $page;
}
