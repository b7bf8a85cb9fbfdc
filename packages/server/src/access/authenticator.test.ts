import { describe, expect, test } from "vitest";
import { FailedAttempts } from "./authenticator.ts";

function failuresAt(start: number) {
  const time = { now: start };
  const clock = { now: () => new Date(time.now), after: () => () => {} };
  return { failures: new FailedAttempts(clock, { failures: 3, failureMs: 1_000 }), time };
}

describe("wrong credentials", () => {
  test("are limited after a burst", () => {
    const { failures, time } = failuresAt(0);
    expect([1, 2, 3].map(() => failures.note("10.0.0.1"))).toEqual([undefined, undefined, undefined]);
    expect(failures.note("10.0.0.1")).toBe(1);
    expect(failures.note("10.0.0.1")).toBe(1);
    time.now += 1_000;
    expect(failures.note("10.0.0.1")).toBeUndefined();
    expect(failures.note("10.0.0.1")).toBe(1);
    time.now += 60_000;
    expect([1, 2, 3].map(() => failures.note("10.0.0.1"))).toEqual([undefined, undefined, undefined]);
  });

  test("of one address do not limit another", () => {
    const { failures } = failuresAt(0);
    for (let count = 0; count < 9; count += 1) failures.note("10.0.0.1");
    expect(failures.note("10.0.0.2")).toBeUndefined();
    expect(failures.note("::ffff:10.0.0.1")).toBeUndefined();
  });

  test("of a whole /64 count together", () => {
    const { failures } = failuresAt(0);
    for (const address of ["2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9"])
      failures.note(address);
    expect(failures.note("2001:db8:1:2:ffff::1")).toBe(1);
    expect(failures.note("2001:db8:1:3::1")).toBeUndefined();
  });

  test("of many addresses use bounded memory", () => {
    const { failures } = failuresAt(0);
    for (let count = 0; count < 4; count += 1) failures.note("10.0.0.1");
    for (let count = 0; count < 10_000; count += 1) failures.note(`h${count}`);
    expect(failures.note("10.0.0.1")).toBeUndefined();
  });

  test("expire in time though the clock was set back", () => {
    const { failures, time } = failuresAt(1_000_000);
    for (let count = 0; count < 4; count += 1) failures.note("10.0.0.1");
    time.now = 0;
    expect(failures.note("10.0.0.1")).toBe(1);
  });
});
