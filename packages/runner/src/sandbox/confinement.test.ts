import { expect, test } from "vitest";
import { networkReach } from "./confinement.ts";

test("hosts that stand for any host, or for most, are an open network to the rules", () => {
  expect(networkReach("off")).toBe("off");
  expect(networkReach("open")).toBe("open");
  for (const host of ["*", "*:443", "*:*", "*.com", "*.com:443", "*."])
    expect([host, networkReach({ hosts: ["api.example.com", host] })]).toEqual([host, "open"]);
  for (const host of ["api.example.com", "*.example.com", "127.0.0.1:80", "*.example.com:*", "localhost"])
    expect([host, networkReach({ hosts: [host] })]).toEqual([host, "hosts"]);
  expect(networkReach({ hosts: [] })).toBe("hosts");
});
