import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '@playwright/test'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string }[]
}

/** The page's policy forbids inline scripts, so the checker is run by the browser's tools, not by a tag. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const checker = (
      globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } }
    ).axe
    const { violations: list } = await checker.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })
    return list
  })
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
