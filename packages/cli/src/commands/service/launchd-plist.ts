import { join } from "node:path";
import type { ServicePlan } from "./service.ts";

/** Where launchd writes what a service says. */
export function launchdLogs({ folder, name }: Pick<ServicePlan, "folder" | "name">) {
  const logs = join(folder, "Library", "Logs");
  return { out: join(logs, `${name}.log`), err: join(logs, `${name}.err.log`) };
}

/** What launchd calls a service. */
export function launchdLabel({ name }: Pick<ServicePlan, "name">): string {
  return `reins.${name}`;
}

/** The property list that has launchd keep a service running for its user. It reads no file of variables, so a shell does. */
export function launchdPlist(plan: ServicePlan): string {
  const { command, folder, environmentFile, path } = plan;
  const { out, err } = launchdLogs(plan);
  const file = shellWord(environmentFile);
  const script = `set -a; [ ! -r ${file} ] || . ${file}; set +a; exec ${command.map(shellWord).join(" ")}`;
  const words = ["/bin/sh", "-c", script].map((word) => `    <string>${escaped(word)}</string>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escaped(launchdLabel(plan))}</string>
  <key>ProgramArguments</key>
  <array>
${words.join("\n")}
  </array>
  <key>WorkingDirectory</key>
  <string>${escaped(folder)}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${escaped(path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>${escaped(out)}</string>
  <key>StandardErrorPath</key>
  <string>${escaped(err)}</string>
</dict>
</plist>
`;
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
