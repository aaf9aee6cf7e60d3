import { expect, test } from '@playwright/test'
import { createMember, openAs, setWallet, signedIn } from '../people'
import { camera, latitude, photoWithLocation } from '../photo'
import { need, origin } from '../stack'

// A photo says where and with what it was taken. What is stored says neither.
// threats: T100

async function stored(key: string): Promise<Buffer> {
  const service = need('SUPABASE_SERVICE_ROLE_KEY')
  const response = await fetch(`${origin}/storage/v1/object/${key}`, {
    headers: { apikey: service, authorization: `Bearer ${service}` },
  })
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

test('a photo with its location is stored without it, the right way up', async ({ browser }) => {
  const member = await createMember('photo')
  await setWallet(await signedIn(member))
  const page = await openAs(browser, member)
  await page.goto('/deposit')
  const photo = await photoWithLocation(page)
  expect(photo.includes(camera) && photo.includes(latitude)).toBe(true)

  const sent = page.waitForResponse(
    (response) =>
      response.url().includes('/storage/v1/object/receipts/') && response.request().method() === 'POST',
  )
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'IMG_0231.jpg', mimeType: 'image/jpeg', buffer: photo })
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  const { Key: key } = (await (await sent).json()) as { Key: string }

  const receipt = await stored(key)
  expect(receipt.subarray(0, 3).toString('hex')).toBe('ffd8ff')
  for (const trace of ['Exif', camera, latitude, 'http://ns.adobe.com/xap'])
    expect(receipt.includes(trace)).toBe(false)
  const size = await page.evaluate(
    async (bytes) => {
      const picture = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: 'image/jpeg' }))
      return [picture.width, picture.height]
    },
    [...receipt],
  )
  expect(size).toEqual([200, 320])
  await page.context().close()
})
