<?php
// Makes the site: its tables, a reader who can log in, and posts of generated words.
const POSTS = 100;
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

mt_srand(1);
wp_install('A site of the lab', 'admin', 'admin@example.com', false, '', 'admin');
wp_delete_comment(1, true);
foreach ([
    'blogdescription' => 'Made for measurement',
    'comment_moderation' => 0,
    'comment_previously_approved' => 0,
    'comments_notify' => 0,
    'moderation_notify' => 0,
    'page_comments' => 1,
    'comments_per_page' => 20,
    'default_comments_page' => 'newest',
    'permalink_structure' => '',
] as $name => $value) {
    update_option($name, $value);
}
must(wp_insert_user([
    'user_login' => 'reader',
    'user_pass' => 'reader',
    'user_email' => 'reader@example.org',
    'role' => 'subscriber',
]));
for ($number = 0; $number < POSTS; $number++) {
    $paragraphs = [];
    for ($paragraph = mt_rand(2, 6); $paragraph > 0; $paragraph--) {
        $paragraphs[] = '<p>' . words(mt_rand(20, 60)) . '</p>';
    }
    must(wp_insert_post([
        'import_id' => FIRST_POST + $number,
        'post_title' => words(mt_rand(2, 5)),
        'post_content' => implode("\n", $paragraphs),
        'post_status' => 'publish',
        'post_author' => 1,
        'post_date' => sprintf('2020-%02d-%02d 12:00:00', 1 + intdiv($number, 25), 1 + $number % 25),
    ], true));
}
echo POSTS, " posts\n";
