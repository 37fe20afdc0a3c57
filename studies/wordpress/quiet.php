<?php
// Users of a driver write faster than people, and all from one address.
add_filter('wp_is_comment_flood', '__return_false', 99);
add_filter('duplicate_comment_id', '__return_false');
add_filter('pre_wp_mail', '__return_true');
// No one is asked whether the address of the administrator is still right.
add_filter('admin_email_check_interval', '__return_zero');
