import { accessOperations } from "./access.ts";
import { acpOperations, connectionOperations, rpcOperations } from "./acp.ts";
import { agentsOperations } from "./agents.ts";
import { approvalOperations } from "./approvals.ts";
import { fileOperations } from "./files.ts";
import { haakOperations } from "./haak.ts";
import { identityOperations, selfOperations } from "./identity.ts";
import { killOperations } from "./kill.ts";
import { ledgerOperations } from "./ledger.ts";
import { boardOperations, mailboxOperations } from "./mailbox.ts";
import { memoryOperations } from "./memory.ts";
import { auditOperations, metricsOperations, wireOperations } from "./metrics.ts";
import { nodeOperations } from "./nodes.ts";
import { opencodeOperations } from "./opencode.ts";
import type { Operation } from "./operation.ts";
import { policyOperations, rosterOperations } from "./policy.ts";
import { studyOperations } from "./policy-study.ts";
import { rewindOperations } from "./rewinds.ts";
import { graphOperations, runOperations } from "./runs.ts";
import { commandOperations, configOperations, sandboxAcpOperations } from "./sandbox-agent.ts";
import { sessionOperations } from "./sessions.ts";
import { skillOperations } from "./skills.ts";
import { mcpOperations, toolOperations } from "./tools.ts";

/** The operations under `/v1` that need no agents. */
export const operations: readonly Operation[] = [
  accessOperations,
  approvalOperations,
  auditOperations,
  identityOperations,
  ledgerOperations,
  policyOperations,
  studyOperations,
  rosterOperations,
  runOperations,
  selfOperations,
].flatMap((group): readonly Operation[] => Object.values(group));

/** The operations of a server that hosts agents. */
export const agentOperations: readonly Operation[] = [
  rpcOperations,
  acpOperations,
  sessionOperations,
  rewindOperations,
  toolOperations,
  connectionOperations,
  graphOperations,
  skillOperations,
  fileOperations,
  sandboxAcpOperations,
  configOperations,
  commandOperations,
  opencodeOperations,
].flatMap((group): readonly Operation[] => Object.values(group));

/** The operations on what agents share and leave behind, whether or not any runs. */
export const hostOperations: readonly Operation[] = [
  boardOperations,
  haakOperations,
  mailboxOperations,
  mcpOperations,
  memoryOperations,
].flatMap((group): readonly Operation[] => Object.values(group));

/** The operations for operating a running server. */
export const operatorOperations: readonly Operation[] = [
  agentsOperations,
  killOperations,
  nodeOperations,
  metricsOperations,
  wireOperations,
].flatMap((group): readonly Operation[] => Object.values(group));
