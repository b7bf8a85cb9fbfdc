import sparticuz from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

/** A running Chromium, or why there is none. */
export type Launched = { readonly browser: Browser } | { readonly browser?: undefined; readonly why: string };

/** Starts the Chromium that comes as an npm package, without a display and without privileges. */
export async function launchChromium(): Promise<Launched> {
  try {
    const executablePath = await sparticuz.executablePath();
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    return { browser: await chromium.launch({ executablePath, args, headless: true }) };
  } catch (error) {
    return { why: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}
