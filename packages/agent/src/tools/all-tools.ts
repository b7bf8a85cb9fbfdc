import type { Memory } from "@reins/bridge";
import { deleteFile } from "./files/delete-file.ts";
import { editFile } from "./files/edit-file.ts";
import { listFiles } from "./files/list-files.ts";
import { readFile } from "./files/read-file.ts";
import { search } from "./files/search.ts";
import { writeFile } from "./files/write-file.ts";
import { postBoard, readBoard } from "./host/board.ts";
import { readMailbox, sendMessage } from "./host/mail.ts";
import { spawnSubagent } from "./host/spawn-subagent.ts";
import type { HostServices } from "./host-services.ts";
import { remember } from "./remember.ts";
import { runCommand } from "./run-command.ts";
import type { Tool } from "./tool.ts";
import { updatePlan } from "./update-plan.ts";

/** The tools of the native agent, as far as what they stand on is there. */
export function allTools(
  { mail, board, subagents }: HostServices,
  memory: Memory | undefined,
): readonly Tool[] {
  return [
    readFile,
    listFiles,
    search,
    ...(mail ? [sendMessage, readMailbox] : []),
    ...(board ? [readBoard, postBoard] : []),
    ...(subagents ? [spawnSubagent] : []),
    writeFile,
    editFile,
    deleteFile,
    runCommand,
    ...(memory ? [remember] : []),
    updatePlan,
  ];
}
