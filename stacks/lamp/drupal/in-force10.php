<?php
// The switches that are in force, as Drupal 10 or 11 itself knows them.
use Drupal\Core\Cache\MemoryBackend;
use Drupal\Core\DrupalKernel;
use Symfony\Component\HttpFoundation\Request;

$lab = require __DIR__ . '/config.php';
chdir($lab['documents']);
$autoloader = require $lab['documents'] . '/autoload.php';
$kernel = DrupalKernel::createFromRequest(Request::createFromGlobals(), $autoloader, 'prod', true, $lab['documents']);
$kernel->boot();
$performance = Drupal::config('system.performance');

return [
    'page_cache' => !(Drupal::cache('page') instanceof MemoryBackend),
    'aggregation' => $performance->get('css.preprocess') && $performance->get('js.preprocess'),
    'login_limits' => Drupal::config('user.flood')->get('ip_limit') < 1000000,
];
