// Any given report: it opens quietly, every figure answers, and there is a picture of each.

import { after, before, test } from "node:test";
import { Browser, picture } from "./browser.mjs";

let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser.stop());

for (const file of (process.env.HEADWATER_GIVEN ?? "").split(",").filter((name) => name !== "")) {
  for (const colorScheme of ["light", "dark"]) {
    test(`${file}, ${colorScheme}`, () =>
      browser.with(
        file,
        async (page) => {
          const figures = await page.locator("figure[data-view]").all();
          for (const [index, chart] of figures.entries()) {
            await chart.scrollIntoViewIfNeeded();
            await page.waitForFunction((element) => "live" in element.dataset, await chart.elementHandle());
            await picture(chart, `given-${file}-${colorScheme}-${index}`);
          }
        },
        { colorScheme },
      ));
  }
}
