import { boardOperations } from "./board/board.ts";
import { haakOperations } from "./haak/haak.ts";
import { mailboxOperations } from "./mailbox/mailbox.ts";
import { memoryOperations } from "./memory/memory.ts";
import type { Operation } from "./operation.ts";

/** What can be asked for about what agents share and leave behind, whether or not any runs. */
export const hostOperations: readonly Operation[] = [
  boardOperations,
  haakOperations,
  mailboxOperations,
  memoryOperations,
].flatMap((group): readonly Operation[] => Object.values(group));
