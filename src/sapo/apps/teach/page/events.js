// What others do, as it happens.

/** Listen to the server from an event on; `heard(event)` for each, `again()` when a lost connection is back. */
export function listen(after, heard, again) {
  const source = new EventSource(`/api/events?after=${after}`);
  let lost = false;
  source.onmessage = (message) => heard(JSON.parse(message.data));
  source.onerror = () => {
    lost = true;
  };
  source.onopen = () => {
    if (lost) again();
    lost = false;
  };
  window.addEventListener("pagehide", () => source.close());
}
