import { expect, test } from "vitest";
import { curlFor } from "./wire-page.tsx";

test("quotes a request for the shell, whatever its path contains", () => {
  expect(curlFor({ method: "GET", path: "/v1/sessions" }, "http://h:1")).toBe(
    `curl -H "Authorization: Bearer $REINS_TOKEN" 'http://h:1/v1/sessions'`,
  );
  expect(curlFor({ method: "POST", path: "/v1/it's" }, "http://h:1")).toBe(
    `curl -X POST -H "Authorization: Bearer $REINS_TOKEN" -H 'Content-Type: application/json' -d '{}' 'http://h:1/v1/it'\\''s'`,
  );
});
