<?php
// A row for each session. WordPress keeps those of an account in one record, which it reads before it looks at a
// password and writes afterwards: of two users who log in to one account at the same time, one would be logged out.
class Lab_Sessions extends WP_Session_Tokens
{
    private const KEY = 'lab_session_';

    protected function get_sessions()
    {
        $sessions = [];
        foreach (array_keys(get_user_meta($this->user_id)) as $key) {
            if (str_starts_with($key, self::KEY)) {
                $verifier = substr($key, strlen(self::KEY));
                $sessions[$verifier] = $this->get_session($verifier);
            }
        }
        return array_filter($sessions);
    }

    protected function get_session($verifier)
    {
        $session = get_user_meta($this->user_id, self::KEY . $verifier, true);
        return is_array($session) && $session['expiration'] >= time() ? $session : null;
    }

    protected function update_session($verifier, $session = null)
    {
        if ($session === null) {
            delete_user_meta($this->user_id, self::KEY . $verifier);
        } else {
            update_user_meta($this->user_id, self::KEY . $verifier, $session);
        }
    }

    protected function destroy_other_sessions($verifier)
    {
        foreach (array_keys($this->get_sessions()) as $other) {
            if ((string) $other !== $verifier) {
                $this->update_session($other);
            }
        }
    }

    protected function destroy_all_sessions()
    {
        $this->destroy_other_sessions('');
    }

    public static function drop_sessions()
    {
        $rows = $GLOBALS['wpdb']->usermeta;
        $GLOBALS['wpdb']->query("DELETE FROM $rows WHERE meta_key LIKE '" . self::KEY . "%'");
    }
}
add_filter('session_token_manager', fn() => 'Lab_Sessions');
