import { useState } from 'react';
import { formatTime } from './components/time.tsx';

/** Shown while the server does not answer. Mounted when the connection is lost, so its time is that of the loss. */
export function StaleNotice() {
  const [since] = useState(Date.now);
  return (
    <p className="stale-notice" role="status">
      <strong>Not connected.</strong> This page shows the state of {formatTime(since)}. You can read and copy; changes
      are possible again as soon as the server answers.
    </p>
  );
}
