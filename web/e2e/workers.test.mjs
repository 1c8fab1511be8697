// The page of a fleet's machines. The server of this test is alone, so what a desk answers is given by the test.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes, violations } from "./world.mjs";

const world = new World();
const FLEET = [
  { id: "w1", name: "builder-1", is_desk: false, slots: 4, loops: 3, version: "0.1.0", is_draining: false, is_alive: true, seen_s_ago: 0.4 },
  { id: "w2", name: "builder-2", is_desk: false, slots: 4, loops: 4, version: "0.1.0", is_draining: true, is_alive: true, seen_s_ago: 1 },
  { id: "w3", name: "builder-3", is_desk: false, slots: null, loops: 0, version: null, is_draining: false, is_alive: false, seen_s_ago: 42 },
  { id: "d1", name: "front-desk", is_desk: true, slots: null, loops: 0, version: "0.1.0", is_draining: false, is_alive: true, seen_s_ago: 0.2 },
];
before(() => world.serve());
after(() => world.end());

test("machine_on_its_own_has_no_page_of_workers_in_its_menu", async () => {
  const page = await world.page();
  await page.getByRole("link", { name: "Agents", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Workers" }).count(), 0);
  await page.goto(`${world.origin}/workers`);
  await page.getByText("This server is not part of a fleet").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("workers_show_what_they_hold_and_one_is_drained", async () => {
  const page = await world.page();
  const fleet = FLEET.map((worker) => ({ ...worker }));
  const drained = [];
  await page.route(/\/api\/workers(\/|$)/, (route) => {
    const id = /workers\/(\w+)\/drain/.exec(route.request().url())?.[1];
    if (id) {
      drained.push(id);
      fleet.find((worker) => worker.id === id).is_draining = true;
    }
    return route.fulfill({ json: fleet });
  });
  await page.goto(world.origin);
  await page.getByRole("link", { name: "Workers" }).click();
  const card = (name) => page.getByRole("listitem").filter({ hasText: name });
  await card("builder-1").getByText("3 / 4").waitFor();
  await card("builder-3").getByText("Not responding").waitFor();
  assert.equal(await card("front-desk").getByRole("button").count(), 0, "a desk has nothing to hand over");
  await card("builder-1").getByRole("button", { name: "Drain" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
  await becomes(() => page.locator("[data-worker=draining]").count(), 2);
  assert.deepEqual(drained, ["w1"]);
  const last = page.getByRole("button", { name: "Theme and language" });
  for (const width of [390, 640, 768, 1024, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    const box = await last.boundingBox();
    assert.ok(box && box.x + box.width <= width, `at ${width} the header ends at ${box?.x + box?.width}`);
    assert.deepEqual(await violations(page), [], `at ${width}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${world.origin}/agents`);
  await page.getByRole("link", { name: "Workers (4)" }).click();
  await card("builder-2").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
