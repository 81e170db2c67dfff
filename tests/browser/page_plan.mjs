// SPDX-License-Identifier: GPL-2.0-or-later
// Lane by lane: what the page says that threads did at random moments is what the threads say of
// themselves. The plan is in the setting: phases of tests/programs/timetable.c, in ns since the start
// of the trace.
import { check, open, randomOf, run, same, setting } from "./page.mjs";

const MOMENTS = 500;
const NEAR = 1e6; // to a change of the plan: not asked
const SETTLED = 100e6; // from the call that blocks until the thread does, on a busy machine
/** Why who waits, and whether it is the main thread that ends it. */
const WAITS = {
	timetable: ["timer", false], dozy: ["timer", false], locked: ["lock", true], reader: ["pipe", true],
	waiter: ["lock", true], still: ["pipe", true],
};

/** Any moment of any phase; long ones are met more often. */
function momentsOf(phases) {
	const random = randomOf(16);
	const asked = phases.map((phase) => ({ ...phase, from: phase.from + NEAR, to: phase.to - NEAR }))
		.filter((phase) => phase.from < phase.to);
	const whole = asked.reduce((sum, phase) => sum + phase.to - phase.from, 0);

	return Array.from({ length: MOMENTS }, () => {
		let left = random() * whole;
		const phase = asked.find(({ from, to }) => (left -= to - from) < 0) || asked[0];

		return { ...phase, time: phase.from + random() * (phase.to - phase.from) };
	});
}

function statesAt(page, moments) {
	return page.evaluate(async (list) => {
		const { model, stateAt } = globalThis.ebreportPage;
		await model.load("spells");
		const { tid } = model.get("threads");

		return list.map((moment) => {
			const found = stateAt(model, tid.indexOf(moment.tid), moment.time);

			return { state: found.state, reason: found.reason, waker: found.waker === null ? 0 : tid[found.waker] };
		});
	}, moments);
}

async function plan() {
	const page = await open("plan");
	const moments = momentsOf(setting.plan);
	const states = await statesAt(page, moments);
	const main = setting.plan.find((phase) => phase.name === "timetable").tid;
	const met = {};

	moments.forEach((moment, i) => {
		const found = states[i], what = moment.name + " at " + moment.time + ": " + JSON.stringify(found);
		const [reason, byMain] = WAITS[moment.name] || [];

		met[moment.name + " " + moment.what] = true;
		if (moment.what === "run")
			check(["running", "runnable"].includes(found.state), what + ", not on a CPU, and not waiting for one");
		else if (moment.time < moment.from + SETTLED && found.state !== "blocked")
			check(["running", "runnable"].includes(found.state), what + ", not on its way to wait");
		else
			same(found, { state: "blocked", reason, waker: byMain ? main : 0 }, what);
	});
	same(Object.keys(met).sort(), [...new Set(setting.plan.map((phase) => phase.name + " " + phase.what))].sort(), "phases that were asked for");
	await page.context().close();
}

await run(plan);
