import { describe, expect, test } from "vitest";
import { DESTINATIONS, destinationOf } from "./shell.tsx";

describe("the keys of the navigation", () => {
  test.each(DESTINATIONS.map(({ key, to }) => [key, to]))("g %s opens %s", (key, to) => {
    expect(destinationOf(key, 1_000, 1_200)?.to).toBe(to);
  });

  test("are all different, as are the pages", () => {
    expect(new Set(DESTINATIONS.map(({ key }) => key)).size).toBe(DESTINATIONS.length);
    expect(new Set(DESTINATIONS.map(({ to }) => to)).size).toBe(DESTINATIONS.length);
  });

  test("count only shortly after g", () => {
    expect(destinationOf("s", 1_000, 2_499)?.to).toBe("/sessions");
    expect(destinationOf("s", 1_000, 2_500)).toBeUndefined();
    expect(destinationOf("s", 0, Date.now())).toBeUndefined();
  });

  test("are no others", () => {
    expect(destinationOf("x", 1_000, 1_200)).toBeUndefined();
    expect(destinationOf("S", 1_000, 1_200)).toBeUndefined();
  });
});
