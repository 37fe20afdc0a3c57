<?php
// Users of a driver write faster than people, and all from one address.
add_filter('wp_is_comment_flood', '__return_false', 99);
add_filter('duplicate_comment_id', '__return_false');
add_filter('pre_wp_mail', '__return_true');
