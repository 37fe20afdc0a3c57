<?php
// Become a customer: the entry form, and the welcome.

declare(strict_types=1);

require __DIR__ . '/common.php';

const TITLE = 'DVD Store New Customer Login';
const COUNTRIES = ['United States', 'Australia', 'Canada', 'Chile', 'China', 'France', 'Germany', 'Japan', 'Russia', 'South Africa', 'UK'];
const MONTHS = [1 => 'Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DUPLICATE_KEY = 1062;

answer(function (): string {
    foreach (['firstname', 'lastname', 'address1', 'city', 'country', 'username', 'password'] as $name) {
        if (text($name) === '') {
            return page(TITLE, entry_form('New Customer - Please Complete All Required Fields Below (marked with *)'));
        }
    }
    $customer = add_customer();
    if ($customer === null) {
        return page(TITLE, entry_form('Username already in use! Please try another username'));
    }
    return page(TITLE, "<H2>New Customer Successfully Added.  Click below to begin shopping</H2>\n"
        . form('dsbrowse') . hidden('customerid', $customer) . submit('Start Shopping'));
});

// Store the customer; null when the user name belongs to somebody else. Numbers that are none become 0, as in the original's database.
function add_customer(): ?int
{
    $username = short_text('username');
    if (row('SELECT COUNT(*) AS TAKEN FROM CUSTOMERS WHERE USERNAME = ?', $username)['TAKEN'] > 0) {
        return null;
    }
    $country = short_text('country');
    $expiration = cut(text('ccexpyr') . '/' . sprintf('%02d', number_within('ccexpmon', 0, 99) ?? 0));
    try {
        run(
            'INSERT INTO CUSTOMERS (FIRSTNAME, LASTNAME, ADDRESS1, ADDRESS2, CITY, STATE, ZIP, COUNTRY, REGION, EMAIL, PHONE,
               CREDITCARDTYPE, CREDITCARD, CREDITCARDEXPIRATION, USERNAME, PASSWORD, AGE, INCOME, GENDER)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
            short_text('firstname'),
            short_text('lastname'),
            short_text('address1'),
            short_text('address2'),
            short_text('city'),
            short_text('state'),
            number_within('zip', 0, MAX_INT) ?? 0,
            $country,
            $country === 'US' ? 1 : 2,
            short_text('email'),
            short_text('phone'),
            number_within('creditcardtype', 0, MAX_INT) ?? 0,
            short_text('creditcard'),
            $expiration,
            $username,
            short_text('password'),
            number_within('age', 0, 127),
            number_within('income', 0, MAX_INT),
            short_text('gender', 1),
        );
    } catch (mysqli_sql_exception $error) {
        // Somebody chose the same name a moment ago: the unique index decides.
        if ($error->getCode() === DUPLICATE_KEY) {
            return null;
        }
        throw $error;
    }
    return database()->insert_id;
}

// The form, with what was typed before.
function entry_form(string $heading): string
{
    $html = "<H2>$heading</H2>\n" . form('dsnewcustomer');
    $fields = ['firstname' => 'Firstname *', 'lastname' => 'Lastname *', 'address1' => 'Address1 *', 'address2' => 'Address2',
        'city' => 'City *', 'state' => 'State', 'zip' => 'Zipcode'];
    foreach ($fields as $name => $label) {
        $html .= field($label, 'TEXT', $name, text($name));
    }
    return $html
        . choice('Country *', 'country', array_combine(COUNTRIES, COUNTRIES), text('country'))
        . field('Email', 'TEXT', 'email', text('email'))
        . field('Phone', 'TEXT', 'phone', text('phone'))
        . choice('Credit card', 'creditcardtype', CARD_TYPES, number('creditcardtype'))
        . field('Credit card number', 'TEXT', 'creditcard', text('creditcard'))
        . choice('Expires', 'ccexpmon', MONTHS, number('ccexpmon'))
        . choice('', 'ccexpyr', array_combine(range(2008, 2013), range(2008, 2013)), number('ccexpyr'))
        . field('Username *', 'TEXT', 'username', text('username'))
        . field('Password *', 'PASSWORD', 'password', '')
        . field('Age', 'TEXT', 'age', text('age'))
        . field('Income ($US)', 'TEXT', 'income', text('income'))
        . choice('Gender', 'gender', ['M' => 'M', 'F' => 'F', '?' => '?'], text('gender'))
        . submit('Submit New Customer Data');
}

function choice(string $label, string $name, array $options, int|string|null $chosen): string
{
    return "$label <SELECT NAME=\"$name\">\n" . options($options, $chosen) . "</SELECT><BR>\n";
}
