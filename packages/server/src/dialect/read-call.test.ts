import { approvalOperations } from "@reins/api";
import { describe, expect, test } from "vitest";
import { Refusal } from "../problems/refusal.ts";
import { readCall } from "./read-call.ts";

const { listApprovals, answerApproval } = approvalOperations;

function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error("it was not refused");
}

describe("what comes with a request", () => {
  test("is read as the operation has it", () => {
    const given = { params: {}, query: { limit: "7", state: "pending" }, body: { ignored: true } };
    expect(readCall(listApprovals, given)).toEqual({
      params: {},
      query: { limit: 7, state: "pending" },
      body: undefined,
    });
  });

  test.each([
    ["a limit of nothing", { limit: "0" }, "query.limit"],
    ["a limit beyond the bound", { limit: "501" }, "query.limit"],
    ["a state that is none", { state: "perhaps" }, "query.state"],
    ["a name given twice", { session: ["a", "b"] }, "query.session"],
    ["a name nobody knows", { tenant: "other" }, "query"],
  ])("with %s is told what is wrong", (_, query, path) => {
    const { problem } = refusalOf(() => readCall(listApprovals, { params: {}, query, body: undefined }));
    expect(problem).toMatchObject({
      status: 400,
      code: "invalid",
      errors: [expect.objectContaining({ path })],
    });
  });

  test("without the body that is needed is told so", () => {
    const { problem } = refusalOf(() =>
      readCall(answerApproval, { params: { id: "apr_1" }, query: {}, body: undefined }),
    );
    expect(problem.errors).toEqual([expect.objectContaining({ path: "body" })]);
  });
});
