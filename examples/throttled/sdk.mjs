// Usage: node sdk.mjs ENDPOINT TABLE... . The SDK retries, and then reports why DynamoDB throttled.
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'

const [, , endpoint, ...tables] = process.argv
const db = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'x', secretAccessKey: 'x' }, maxAttempts: 3 })
for (const table of tables) {
  try {
    for (let n = 0; n < 10; n++) {
      await db.send(new PutItemCommand({ TableName: table, Item: { id: { S: 'hot' }, text: { S: 'x'.repeat(300_000) } } }))
    }
  } catch (e) {
    const reasons = e.ThrottlingReasons ?? e.throttlingReasons ?? []
    console.log(JSON.stringify({ class: e.constructor.name, code: e.name, attempts: e.$metadata.attempts, reasons: reasons.map((r) => r.reason) }))
  }
}
