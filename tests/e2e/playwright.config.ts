import { defineConfig } from '@playwright/test'
import { origin } from './stack'

// Debian's browser; Playwright's own is not downloaded.
export const browserOptions = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
}

export default defineConfig({
  testDir: 'journeys',
  outputDir: '.output/results',
  fullyParallel: true,
  workers: 2,
  // The processor is shared with other suites: what fails is tried once more, and the summary names it all the same.
  retries: 1,
  // A journey walks through many pages; what it waits for has its own, shorter limit.
  timeout: 180_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
  use: {
    baseURL: origin,
    launchOptions: browserOptions,
    screenshot: 'only-on-failure',
    // Without a trace, which costs a third more of the processor: `npx playwright test --trace on` makes one.
    contextOptions: { reducedMotion: 'reduce' },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  },
  projects: [{ name: 'chromium', use: { browserName: 'chromium' } }],
})
