import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Locator, Page } from '@playwright/test'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// What the theme decides; everything else is the same in both.
const themeRules = ['color-contrast', 'link-in-text-block']
const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  id: string
  nodes: { html: string }[]
}

interface Checker {
  run: (within: Node, options: object) => Promise<{ violations: Violation[] }>
}

/**
 * What the checker complains of, or only what the theme decides, on the page or within a part of it. The page's policy forbids inline scripts, so it is
 * run by the browser's tools, not by a tag.
 */
export async function violations(
  page: Page,
  only: 'all' | 'colours' = 'all',
  part: Locator = page.locator('html'),
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const runOnly = only === 'all' ? standards : { type: 'rule', values: themeRules }
  const found = await part.evaluate(async (element, rules) => {
    const checker = (globalThis as unknown as { axe: Checker }).axe
    const within = element === document.documentElement ? document : element
    // What fades in is pale until then.
    const fading = document
      .getAnimations()
      .filter((one) => one.playState === 'running' && one.effect?.getComputedTiming().iterations !== Infinity)
    await Promise.allSettled(fading.map((one) => one.finished))
    const { violations: list } = await checker.run(within, { runOnly: rules, resultTypes: ['violations'] })
    return list
  }, runOnly)
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`)
}

/** By how many pixels the page is wider than its window, once what follows the window's width is drawn. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn))
    await frame()
    await frame()
    return document.documentElement.scrollWidth - document.documentElement.clientWidth
  })
}

/** By how many pixels the widest table is wider than its box. */
export async function tableOverflow(page: Page): Promise<number> {
  const boxes = page.locator(':has(> table)')
  return boxes.evaluateAll((all) => Math.max(0, ...all.map((box) => box.scrollWidth - box.clientWidth)))
}
