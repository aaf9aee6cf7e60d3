import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { test } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { openFirefox } from '../browsers/firefox'
import { button, field, text, type Visitor } from '../browsers/visitor'
import { openWebKit } from '../browsers/webkit'
import { linkOf, mailTo } from '../mail'
import { receiptPicture } from '../receipt'
import { need, origin } from '../stack'

const browsers: [string, () => Promise<Visitor>][] = [
  ['Firefox', openFirefox],
  ['WebKit', openWebKit],
]

async function signUp(visitor: Visitor): Promise<void> {
  const tag = randomBytes(4).toString('hex')
  const email = `walker.${tag}@example.com`
  await visitor.open(`${origin}/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await visitor.see(text('Your sponsor. This cannot be changed later.'))
  await visitor.type(field('Full name'), 'Noor Haddad')
  await visitor.type(field('Username'), `walker_${tag}`)
  await visitor.type(field('Email'), email)
  await visitor.type(field('Password'), 'Lantern-at-the-quay-7')
  await visitor.press('//*[@role="checkbox"]')
  await visitor.press(button('Create account'))
  await visitor.see(text('Check your email'))
  await visitor.open(linkOf(await mailTo(email, /confirm/i)))
  await visitor.press(button('Confirm email'))
  await visitor.see(text('Your Command Center'))
}

async function pay(visitor: Visitor, receipt: string): Promise<void> {
  await visitor.open(`${origin}/settings`)
  await visitor.type(field('TRC20 wallet address'), walletOf(receipt))
  await visitor.press(button('Save address'))
  await visitor.see(text('Profile updated successfully'))
  await visitor.open(`${origin}/deposit`)
  await visitor.press('//*[@role="radio"][contains(., "Starter")]')
  await visitor.type(field('Reference number'), randomBytes(32).toString('hex'))
  await visitor.attach('//input[@type="file"]', receipt)
  await visitor.see(text('Receipt uploaded successfully'))
  await visitor.press('//*[@role="checkbox"]')
  await visitor.press(button('Review deposit'))
  await visitor.press(button('Submit $50.00'))
  await visitor.see('//*[@aria-label="Waiting for review"]//article[contains(., "Nothing to do now.")]')
}

for (const [name, openBrowser] of browsers)
  test(`a newcomer gets from the sponsor’s link to a deposit in review in ${name} @long`, async ({}, info) => {
    const receipt = info.outputPath('transfer.png')
    await writeFile(receipt, receiptPicture())
    const visitor = await openBrowser()
    try {
      await signUp(visitor)
      await pay(visitor, receipt)
    } finally {
      await visitor.close()
    }
  })
