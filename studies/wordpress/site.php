<?php
// Makes the site for content management: its tables, accounts that may publish, and posts of generated words.
//   php site.php POSTS ACCOUNTS
const FIRST_POST = 1001;

$_SERVER['HTTP_HOST'] = 'localhost';
define('WP_INSTALLING', true);
require '/usr/share/wordpress/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

function words(int $count): string
{
    static $parts = ['ba', 'de', 'fi', 'go', 'lu', 'ma', 'ne', 'pi', 'ro', 'su', 'ta', 've'];
    $words = [];
    for ($word = 0; $word < $count; $word++) {
        $text = '';
        for ($part = mt_rand(1, 4); $part > 0; $part--) {
            $text .= $parts[mt_rand(0, count($parts) - 1)];
        }
        $words[] = $text;
    }
    return ucfirst(implode(' ', $words)) . '.';
}

function must($result)
{
    if (is_wp_error($result)) {
        fwrite(STDERR, $result->get_error_message() . "\n");
        exit(1);
    }
    return $result;
}

/** Writes the accounts 2 to $last like the first one, but for its name. */
function copy_account(int $first, int $last): void
{
    $db = $GLOBALS['wpdb'];
    $user = $db->get_row("SELECT * FROM $db->users WHERE ID = $first", ARRAY_A);
    $details = $db->get_results("SELECT * FROM $db->usermeta WHERE user_id = $first", ARRAY_A);
    $db->query('START TRANSACTION');
    for ($number = 2; $number <= $last; $number++) {
        $name = sprintf('user%05d', $number);
        $id = $first + $number - 1;
        $named = fn(string $text): string => str_replace('user00001', $name, $text);
        $db->insert($db->users, array_map($named, array_merge($user, ['ID' => (string) $id])));
        foreach ($details as $detail) {
            unset($detail['umeta_id']);
            $db->insert($db->usermeta, array_map($named, array_merge($detail, ['user_id' => (string) $id])));
        }
    }
    $db->query('COMMIT');
}

[, $posts, $accounts] = array_map('intval', $argv);
mt_srand(1);
wp_install('A site of the lab', 'admin', 'admin@example.com', false, '', 'password');
// What the installer wrote is no content of the lab.
foreach (get_posts(['post_type' => 'any', 'post_status' => 'any', 'numberposts' => -1]) as $post) {
    wp_delete_post($post->ID, true);
}
foreach ([
    'blogdescription' => 'Made for measurement',
    'permalink_structure' => '/archives/%post_id%',
    'posts_per_page' => 10,
] as $name => $value) {
    update_option($name, $value);
}
// One account by WordPress itself; the others are written as its rows, all at once.
$first = must(wp_insert_user([
    'user_login' => 'user00001',
    'user_pass' => 'password',
    'user_email' => 'user00001@example.org',
    'role' => 'editor',
]));
copy_account($first, $accounts);
wp_defer_term_counting(true);
for ($number = 0; $number < $posts; $number++) {
    $paragraphs = [];
    for ($paragraph = mt_rand(1, 12); $paragraph > 0; $paragraph--) {
        $paragraphs[] = '<p>' . words(mt_rand(10, 60)) . '</p>';
    }
    must(wp_insert_post([
        'import_id' => FIRST_POST + $number,
        'post_title' => words(mt_rand(1, 6)),
        'post_content' => implode("\n", $paragraphs),
        'post_status' => 'publish',
        'post_author' => 1,
        'post_date' => gmdate('Y-m-d H:i:s', 1236470400 - mt_rand(0, 7 * 86400)),
    ], true));
}
wp_defer_term_counting(false);
echo "$posts posts, $accounts accounts\n";
