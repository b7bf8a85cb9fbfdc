import type { QueryClient } from "@tanstack/react-query";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { aSelf } from "../../test/examples.ts";
import { cached, renderedText } from "../../test/render.ts";
import { answerIn, codeIn, SignIn, useSelf } from "./sign-in.tsx";

describe("the code of an address", () => {
  test("is its fragment", () => {
    expect(codeIn("#AbC_def-0123456789")).toBe("AbC_def-0123456789");
  });

  test.each([
    ["", "no fragment"],
    ["#", "an empty fragment"],
    ["#main", "a part of the page"],
    ["#0123456789abcde", "a fragment that is too short"],
    [`#${"a".repeat(257)}`, "a fragment that is too long"],
    ["#0123456789abcdef&x=1", "other characters"],
    ["#<script>alert(1)</script>", "markup"],
  ])("is not taken from %j: %s", (hash) => {
    expect(codeIn(hash)).toBeUndefined();
  });
});

describe("the answer of an issuer", () => {
  test("is in the query of the address", () => {
    expect(answerIn("?code=c&state=corp.s")).toEqual({ code: "c", state: "corp.s" });
    expect(answerIn("?state=s&iss=https%3A%2F%2Fid.example&code=c&x=1")).toEqual({
      ...{ code: "c", state: "s", iss: "https://id.example" },
    });
  });

  test.each(["", "?", "?code=c", "?state=s", "?error=access_denied&state=s", "#code=c&state=s"])(
    "is not taken from %j",
    (search) => {
      expect(answerIn(search)).toBeUndefined();
    },
  );
});

const User = () => createElement("b", null, useSelf().user);

describe("the page", () => {
  const page = (queries?: QueryClient) =>
    renderedText(createElement(SignIn, null, createElement(User)), queries);

  test("waits until the browser is signed in", () => {
    expect(page()).toBe("Signing in …");
  });

  test("shows its content to a signed-in user", () => {
    expect(page(cached([["self"], aSelf({ user: "ada" })]))).toBe("ada");
  });

  test("has no user outside of a sign-in", () => {
    expect(() => renderedText(createElement(User))).toThrow("after sign-in only");
  });
});
