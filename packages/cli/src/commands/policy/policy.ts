import { group } from "../../command.ts";
import { acceptCommand } from "./accept.ts";
import { backtestCommand } from "./backtest.ts";
import { checkCommand, testCommand } from "./check.ts";
import { coverageCommand } from "./coverage.ts";
import { diffCommand } from "./diff.ts";
import { explainCommand } from "./explain.ts";

const DESCRIPTION =
  "constitution.yaml says what agents may do. These commands check, test and explain it, and apply a draft to past " +
  "decisions before it is in force. Only accept changes anything, and all of them work while " +
  "Reins runs.";

export const policyCommand = group(DESCRIPTION, {
  check: checkCommand,
  test: testCommand,
  explain: explainCommand,
  diff: diffCommand,
  backtest: backtestCommand,
  coverage: coverageCommand,
  accept: acceptCommand,
});
