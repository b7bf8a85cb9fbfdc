import { describe, expect, test } from "vitest";
import { subjectOf } from "../../test/approvals/requests.ts";
import { lifecycleDraft, resultDraft, UNGATED } from "../ahp/handlers.ts";

const call = { entry: "e1", tool: "edit", event_type: "pre_action", uses: [], at: 0 };

describe("the entry of a session's change", () => {
  test("names the change and the subject", () => {
    expect(lifecycleDraft(subjectOf(), "session_start")).toEqual({
      quality: "session_lifecycle",
      actor: "reed",
      target: "s1",
      entity_id: "acme/reed:ahp:s1",
      tags: ["session_start"],
      payload: { change: "session_start", subject: subjectOf() },
    });
  });

  test("lists the calls whose outcome stays unknown", () => {
    const { payload } = lifecycleDraft(subjectOf(), "session_end", [call, { ...call, entry: "e2" }]);
    expect(payload).toMatchObject({
      unfinished: [
        { verdict: "e1", tool: "edit", outcome: "unknown" },
        { verdict: "e2", tool: "edit", outcome: "unknown" },
      ],
    });
  });
});

describe("the entry of a result", () => {
  test.each([
    ["the verdict that allowed it", { tool: "edit", outcome: "completed" }, call, "e1", ["completed"]],
    ["the tool of the call where it names none", { outcome: "failed" }, call, "e1", ["failed"]],
    [
      "that no verdict came first",
      { tool: "edit", outcome: "completed" },
      undefined,
      null,
      ["completed", UNGATED],
    ],
  ])("names %s", (_, result, of, verdict, tags) => {
    const draft = resultDraft(subjectOf(), result, of);
    expect(draft).toMatchObject({ quality: "tool_result", target: "edit", tags });
    expect(draft.payload).toMatchObject({
      tool: "edit",
      verdict,
      outcome: result.outcome,
      enforcement: of ? "asked" : "observed",
    });
  });

  test("says when not even the tool is known", () => {
    expect(resultDraft(subjectOf(), { outcome: "unknown" }, undefined).target).toBe("unknown");
  });
});
