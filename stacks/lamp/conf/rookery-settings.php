<?php
// The settings of PHP that are in force in this process, for the lab to compare with what was asked.
declare(strict_types=1);

header('Content-Type: application/json');
header('Cache-Control: no-store');
$opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
// Only the switches: the rest of that file is nobody's business.
$config = __DIR__ . '/ds2/config.php';
$switches = is_file($config) ? (static fn () => include $config)() : [];
$pages = (object) array_intersect_key($switches, ['faithful' => 0, 'persistent' => 0]);
echo json_encode([
    'version' => PHP_VERSION,
    'sapi' => PHP_SAPI,
    'settings' => ini_get_all(null, false),
    'opcache' => is_array($opcache) && $opcache['opcache_enabled'],
    'pool' => function_exists('fpm_get_status') ? array_diff_key((array) fpm_get_status(), ['procs' => 0]) : null,
    'pages' => $pages,
], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
