import type { Channel } from "./channel/channel.ts";

/** Sends a message, waits for the reply, and so on; gives the microseconds that each took. */
export function roundTrips(channel: Channel, count: number): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const taken: number[] = [];
  let sent = performance.now();
  channel.onReplies(() => {
    taken.push((performance.now() - sent) * 1000);
    if (taken.length === count) return resolve(taken);
    sent = performance.now();
    channel.send();
  });
  channel.send();
  return promise;
}

/** Keeps `window` messages under way until `count` were answered; gives the replies per second. */
export function pipelined(channel: Channel, count: number, window: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const start = performance.now();
  let sent = 0;
  let answered = 0;
  channel.onReplies((replies) => {
    answered += replies;
    if (answered === count) return resolve((count / (performance.now() - start)) * 1000);
    for (let free = replies; free > 0 && sent < count; free -= 1) sendOne();
  });
  function sendOne(): void {
    sent += 1;
    channel.send();
  }
  while (sent < Math.min(window, count)) sendOne();
  return promise;
}

/** The middle one of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
