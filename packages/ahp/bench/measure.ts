import type { Channel } from "./channel/channel.ts";

/** Sends a message and waits for the reply, so many times; gives the microseconds that each took. */
export function roundTrips(channel: Channel, count: number): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const taken: number[] = [];
  let sent = performance.now();
  channel.onReplies(() => {
    taken.push((performance.now() - sent) * 1_000);
    if (taken.length === count) return resolve(taken);
    sent = performance.now();
    channel.send();
  });
  channel.send();
  return Promise.race([promise, channel.lost]);
}

/** Keeps `window` messages under way until `count` were answered; gives the replies per second. */
export function pipelined(channel: Channel, count: number, window: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const start = performance.now();
  let sent = 0;
  let answered = 0;
  const send = () => {
    sent += 1;
    channel.send();
  };
  channel.onReplies((replies) => {
    answered += replies;
    if (answered === count) return resolve((count / (performance.now() - start)) * 1_000);
    for (let free = replies; free > 0 && sent < count; free -= 1) send();
  });
  while (sent < Math.min(window, count)) send();
  return Promise.race([promise, channel.lost]);
}

/** The microseconds that something took. */
export async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) * 1_000;
}

/** The middle one of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
