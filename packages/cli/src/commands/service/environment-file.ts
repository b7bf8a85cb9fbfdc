import { stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";

const FIRST = `# Variables of the service, one on each line. Only this user can read the file.
# The key of a model for the native agent, without which it only shows how things go:
#ANTHROPIC_API_KEY=
#OPENAI_API_KEY=
# What reins.yaml says too: REINS_PORT, REINS_TTL, REINS_PRELOAD_STANDING and so on; see reins up --help.
`;
const OTHERS_MAY_READ = 0o077;

/** The file with the variables of a home's service. */
export function environmentFileIn(home: string): string {
  return join(home, "environment");
}

/** Sees to it that the file is there; whether others may read what is in it. */
export async function openEnvironmentFile(path: string): Promise<{ readonly othersMayRead: boolean }> {
  try {
    const { mode } = await stat(path);
    return { othersMayRead: (mode & OTHERS_MAY_READ) !== 0 };
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    await writeNewFile(path, [FIRST]);
    return { othersMayRead: false };
  }
}
