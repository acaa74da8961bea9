import { byId } from "./dom";
import { readData } from "./data";
import { applyTheme } from "./theme";

async function main(): Promise<void> {
  const element = byId("headwater-data");
  if (element === null) return;
  await readData(element);
  applyTheme("auto");
}

void main();
