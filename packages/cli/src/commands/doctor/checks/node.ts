import { type Check, fine, wrong } from "../finding.ts";

const LEAST = [22, 18] as const;

/** Whether this Node runs Reins. */
export const nodeCheck: Check = {
  name: "node",
  look: async () => [nodeFinding(process.versions.node)],
};

/** What a version of Node is worth. */
export function nodeFinding(version: string) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return fine(`Node ${version}`);
  return wrong(
    `Node ${version} is too old`,
    `Use Node ${LEAST.join(".")} or newer; npm start in the repository brings its own.`,
  );
}
