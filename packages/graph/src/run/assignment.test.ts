import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { type Assignment, answerSummary, assignmentText, expectedOutputs, readAnswer } from "./assignment.ts";

const assignment: Assignment = {
  ...{ run: "r", action: "b", executor: "agent:reviewer", goal: "Review it.", context_refs: ["md:shared"] },
  authority: { principal: "ann", tools: ["read"], writes: [], budget: { tokens: 100 } },
  ...{ expected_outputs: ["findings", "severity"], handoffs: [], withheld: [], notes: [] },
};

const texts = { context: ["Background."], task: "Review it." };

const REPORT = `\`\`\`json agent-report
{
  "result_summary": "Half of it is done.",
  "evidence": ["a.ts:4"],
  "risks": ["untested"],
  "unresolved_issues": ["the other half"]
}
\`\`\``;

describe("An assignment", () => {
  it("is put to its agent with context, limits, input and what to report before the task", () => {
    expect(
      assignmentText(assignment, { ...texts, input: { depth: 1 } }),
    ).toBe(`<node-request run_id="r" action_id="b">
  <context>
    Background.
    You may use these tools only: read.
    You may write: nothing.
    You have at most 100 tokens.
    Input:
    {
      "depth": 1
    }
    Answer with a JSON object with the members findings, severity. End the answer with a report for those who go on with it, of which you may leave out any member:
    \`\`\`json agent-report
    { "result_summary": "…", "evidence": ["…"], "artifact_refs": ["…"], "risks": ["…"], "unresolved_issues": ["…"] }
    \`\`\`
  </context>
  <task>
    Review it.
  </task>
</node-request>`);
  });

  it("goes on with what others left, says what is withheld, and what was noted", () => {
    const handoff = {
      from: { run: "r", action: "a", session: "s" },
      result_summary: "Half of it is done.",
      ...{ evidence: ["a.ts:4"], artifact_refs: ["artifact://r/a"], risks: ["untested"] },
      unresolved_issues: ["the other half"],
      next_goal: "Do the other half.",
      ...{ constraints: ["no new dependency"], dependencies: ["a"] },
    };
    const given = { ...assignment, handoffs: [handoff], withheld: ["c"], notes: ["Try the other file."] };
    expect(assignmentText(given, texts)).toContain(`    Background.
    Handoff from a of run r

    Result: Half of it is done.

    Evidence:
    - a.ts:4

    Artifacts:
    - artifact://r/a

    Risks:
    - untested

    Unresolved issues:
    - the other half

    Constraints:
    - no new dependency

    Dependencies:
    - a

    Next goal: Do the other half.
    Withheld: the results of c.
    Noted with a decision about this action: Try the other file.
    You may use these tools only: read.`);
  });

  it("expects what the policy names for a structured result, and what a loop looks at", () => {
    const [action] = graphOf([
      {
        id: "a",
        result_policy: { return_to_model: "structured", priority: ["findings"] },
        loop: { max_iterations: 2, until: { field: "state.done", equals: true } },
      },
      { id: "b", result_policy: { return_to_model: "adaptive", priority: ["errors"] } },
    ]).actions.map(expectedOutputs);
    expect(action).toEqual(["findings", "state.done"]);
    expect(expectedOutputs(graphOf([{ id: "b" }]).actions[0] ?? expect.fail())).toEqual([]);
  });
});

describe("The answer of an agent", () => {
  const nothing = { evidence: [], artifact_refs: [], risks: [], unresolved_issues: [], faults: [] };
  const reported = {
    ...{ ...nothing, result_summary: "Half of it is done.", evidence: ["a.ts:4"] },
    ...{ risks: ["untested"], unresolved_issues: ["the other half"] },
  };

  it.each([
    ["text", "It is done.", "It is done."],
    ["JSON", '{ "findings": 2 }', { findings: 2 }],
    ["JSON in a block", '```json\n{ "findings": 2 }\n```', { findings: 2 }],
    ["JSON that is cut off", '{ "findings": 2', '{ "findings": 2'],
  ])("is its result, and without a report where it has none: %s", (_, answer, output) => {
    expect(readAnswer(answer, [])).toEqual({ output, report: nothing });
  });

  it("has its report taken off the result", () => {
    expect(readAnswer(`I did half.\n\n${REPORT}\n`, [])).toEqual({ output: "I did half.", report: reported });
    const { output, report } = readAnswer(`{ "findings": 2 }\n${REPORT}`, ["findings"]);
    expect([output, report]).toEqual([{ findings: 2 }, reported]);
    expect(readAnswer(REPORT, []).output).toMatchObject({ evidence: ["a.ts:4"] });
  });

  it("reports by the members of its result where it has no report of its own", () => {
    expect(readAnswer('{ "isGood": true, "risks": ["none"], "evidence": 7 }', []).report).toEqual({
      ...nothing,
      risks: ["none"],
    });
  });

  it("is text where its report is quoted, or does not end it", () => {
    const quoted = REPORT.replace(/^/gm, "> ");
    expect(readAnswer(quoted, []).report).toEqual(nothing);
    expect(readAnswer(`${REPORT}\n\nAnd more.`, []).output).toBe(`${REPORT}\n\nAnd more.`);
  });

  it("is compared with what was expected", () => {
    expect(
      readAnswer('{ "findings": 2, "state": {} }', ["findings", "state.done", "x"]).report.faults,
    ).toEqual(["the result has no state.done", "the result has no x"]);
    const block = (content: string) => `Done.\n\`\`\`json agent-report\n${content}\n\`\`\``;
    expect(readAnswer(block("nonsense"), []).report.faults).toEqual(["the report is no JSON object"]);
    expect(readAnswer(block('{ "risks": "many", "evidence": ["x"] }'), []).report).toEqual({
      ...nothing,
      evidence: ["x"],
      faults: ["risks of the report is not as it has to be"],
    });
  });

  it("is summed up by its own summary with what it reports", () => {
    const { report } = readAnswer(`A long story.\n${REPORT}`, ["x"]);
    expect(answerSummary("A long story.", report)).toBe(
      "Half of it is done.\n\nEvidence:\n- a.ts:4\n\nRisks:\n- untested\n\nUnresolved issues:\n- the other half\n\nNot as it was asked for:\n- the result has no x",
    );
    expect(answerSummary("It is done.", readAnswer("It is done.", []).report)).toBe("It is done.");
  });
});
