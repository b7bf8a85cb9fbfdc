import { describe, expect, it } from "vitest";
import { Redactor } from "../redaction/redactor.ts";
import { withoutSecrets } from "./drafts.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;

describe("a draft that is recorded", () => {
  const draft = {
    quality: "tool_call",
    actor: "reed",
    target: `run ${TOKEN}`,
    entity_id: "reed:acp:1",
    tags: [`call:${TOKEN}`, "completed"],
    payload: { arguments: { command: `curl -H 'x: ${TOKEN}'`, word: "open sesame street" } },
  } as const;

  it("has no secret in it that is known by its form, wherever it stood", () => {
    const shown = withoutSecrets(draft);
    expect(JSON.stringify(shown)).not.toContain(TOKEN);
    expect(shown.target).toMatch(/^run .*\[redacted\]$/);
    expect(shown.tags).toEqual([expect.stringMatching(/^call:.*\[redacted\]$/), "completed"]);
  });

  it("nor one that was configured", () => {
    const redactor = Redactor.create({ values: ["open sesame street"] });
    const shown = withoutSecrets(draft, (value) => redactor.value(value));
    expect(shown.payload).toMatchObject({ arguments: { word: "[redacted]" } });
  });

  it("keeps who did it, and in which session", () => {
    expect(withoutSecrets(draft)).toMatchObject({
      quality: "tool_call",
      actor: "reed",
      entity_id: "reed:acp:1",
    });
  });
});
