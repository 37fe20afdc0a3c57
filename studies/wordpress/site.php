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
// All have one password: its hash is computed once and stored for each.
$hash = wp_hash_password('password');
for ($number = 1; $number <= $accounts; $number++) {
    $name = sprintf('user%05d', $number);
    $id = must(wp_insert_user([
        'user_login' => $name,
        'user_pass' => '',
        'user_email' => "$name@example.org",
        'role' => 'editor',
    ]));
    $GLOBALS['wpdb']->update($GLOBALS['wpdb']->users, ['user_pass' => $hash], ['ID' => $id]);
}
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
