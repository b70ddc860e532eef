<?php
/**
 * A webhook receiver in PHP (8.1 or newer), for any server of PHP; to try it, with the one that comes with PHP:
 *
 *     CLIENT_SECRET=… DELIVERIES=/var/lib/receiver php -S 127.0.0.1:3000 receiver.php
 *
 * Answers challenges, checks the signature of each delivery, and handles each once: a file for each delivery, locked
 * while it is handled and not empty once it is. That holds over any number of PHP's processes, and over restarts. A
 * server of PHP is stopped gracefully in its own way; this one by SIGINT.
 */

declare(strict_types=1);

const BODY_BYTES_MAX = 16 * 1024 * 1024;

// As `sluice app create` prints it. X's applications have one too.
$secret = (string) getenv('CLIENT_SECRET');
$deliveries = getenv('DELIVERIES') ?: sys_get_temp_dir() . '/deliveries';
if ($secret === '') {
    respond(500, 'CLIENT_SECRET is not set');
}

// A challenge: proves that this endpoint knows the secret.
if ($_SERVER['REQUEST_METHOD'] === 'GET' && is_string($_GET['crc_token'] ?? null)) {
    // The answer to another text could be the signature of a forged delivery.
    if (!preg_match('#^[\w.~+/= -]{1,256}$#D', $_GET['crc_token'])) {
        respond(400, 'not a challenge');
    }
    header('Content-Type: application/json');
    echo json_encode(['response_token' => sign($_GET['crc_token'], $secret)], JSON_UNESCAPED_SLASHES);
    exit;
}
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    respond(405, 'not for a webhook');
}

// A delivery. The signature is of the raw bytes, so it is checked before anything parses them, in constant time.
if ((int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > BODY_BYTES_MAX) {
    respond(413, 'the body is too large');
}
$body = (string) file_get_contents('php://input');
$signature = $_SERVER['HTTP_X_TWITTER_WEBHOOKS_SIGNATURE_OAUTH2'] ?? '';
if (!hash_equals(sign($body, $secret), $signature)) {
    respond(403, 'the signature is missing or wrong');
}

// Every attempt at a delivery has the same id. X sends none: there its signature serves. Its hash names the file, since
// an id is a text of the sender's. Files older than a day can be deleted.
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? $signature;
if (!is_dir($deliveries)) {
    @mkdir($deliveries, 0o700, true);
}
$file = fopen($deliveries . '/' . hash('sha256', $id), 'c+');
if ($file === false) {
    respond(500, 'the directory of deliveries cannot be written');
}
if (!flock($file, LOCK_EX | LOCK_NB)) {
    // Not 200: the attempt before may yet fail. The server tries again.
    header('Retry-After: 1');
    respond(503, 'an earlier attempt is still being handled');
}
if (fread($file, 1) !== '') {
    exit; // A repeat: its response was lost, or came too late. The status is 200.
}
try {
    handle(json_decode($body, true, flags: JSON_THROW_ON_ERROR));
} catch (Throwable $error) {
    respond(500, 'not handled: ' . $error->getMessage());
}
fwrite($file, 'handled');
fflush($file);

/** The work. When it throws, the response is 500, and the server tries again later. It waits for 10 s at most. */
function handle(array $event): void
{
    if (!isset($event['data'])) {
        return; // The message at the end of a replay.
    }
    $tags = array_column($event['matching_rules'], 'tag');
    $line = ['post' => $event['data']['id'], 'text' => $event['data']['text'], 'tags' => $tags];
    file_put_contents('php://stdout', json_encode($line, JSON_THROW_ON_ERROR) . "\n");
}

/** X's signature, of bodies and of challenges alike. */
function sign(string $message, string $secret): string
{
    return 'sha256=' . base64_encode(hash_hmac('sha256', $message, $secret, true));
}

/** Ends the request without a body; the reason goes to the log. */
function respond(int $status, string $reason): never
{
    error_log("refused: $reason");
    http_response_code($status);
    exit;
}
