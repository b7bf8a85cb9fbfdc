import { expect, it } from "vitest";
import { printable } from "./printable.ts";

it("shows what would steer a terminal", () => {
  expect(printable("plain – ünïcödé 🐎\n\tindented")).toBe("plain – ünïcödé 🐎\n\tindented");
  expect(printable("\u001b[2J\r\u0007\u009b")).toBe("\\u{1b}[2J\\u{d}\\u{7}\\u{9b}");
  expect(printable("a\u202eb\u2028")).toBe("a\\u{202e}b\\u{2028}");
});
