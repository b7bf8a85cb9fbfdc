import { describe, expect, it } from "vitest";
import { hintsFor } from "./reasoning.ts";

const CONSTITUTION = `# Constitution

Some words before.

1. **People decide.** An agent acts on behalf of a person.
2. **Secrets stay secret.** Keys, tokens and passwords are not for
   agents.
3. **Nothing is destroyed quietly.** What is deleted needs a person's word.

Some words after, about passwords.
`;

const hints = (problem_statement: string, constitution = CONSTITUTION) => {
  const decision = hintsFor(
    { session_id: "s", reasoning_type: "chain_of_thought", problem_statement },
    constitution,
  );
  return decision.decision === "allow" ? (decision.hints ?? []) : [];
};

describe("hints", () => {
  it("say what the kind of work needs", () => {
    expect(hints("fix the crash").join()).toContain("Find the cause");
    expect(hints("delete the old logs").join()).toContain("Look at what is there first");
  });

  it("quote the constitution where it has to do with the problem", () => {
    expect(hints("where are the passwords?")).toContain(
      "Secrets stay secret. Keys, tokens and passwords are not for agents.",
    );
    expect(hints("which files were deleted?").join()).toContain("Nothing is destroyed quietly.");
  });

  it("are none where there is nothing to say", () => {
    expect(hintsFor({ session_id: "s", reasoning_type: "re_act", problem_statement: "zzz" }, "")).toEqual({
      decision: "allow",
    });
  });
});
