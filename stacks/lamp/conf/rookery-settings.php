<?php
// The settings of PHP that are in force in this process, for the lab to compare with what was asked.
declare(strict_types=1);

header('Content-Type: application/json');
header('Cache-Control: no-store');
$opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
$settings = ini_get_all(null, false);
// Only the switches: the rest of those files is nobody's business. A site that can tell what is in force is asked itself.
$switches = [];
foreach ([...glob(__DIR__ . '/*/in-force.php'), ...glob(__DIR__ . '/*/config.php')] as $file) {
    $switches += (static fn () => include $file)();
}
$names = ['faithful', 'persistent', 'anonymous_sessions', 'page_cache', 'block_cache', 'compression', 'aggregation', 'login_limits'];
$pages = (object) array_intersect_key($switches, array_flip($names));
echo json_encode([
    'version' => PHP_VERSION,
    'sapi' => PHP_SAPI,
    'settings' => $settings,
    'opcache' => is_array($opcache) && $opcache['opcache_enabled'],
    'pool' => function_exists('fpm_get_status') ? array_diff_key((array) fpm_get_status(), ['procs' => 0]) : null,
    'pages' => $pages,
], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
