// The same job in Node: AWS SDK v3, and the batch, idempotency and logger utilities of Powertools for AWS Lambda, as documented.
//
// The events of `bench/src/messages.rs` are projected by the same conditional UpdateItem as ours. The idempotency key is
// the event's id. It logs a line for each batch and one for each failure, as ours does.

import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';

const TABLE = process.env.ORDER_HISTORY_TABLE;
const DAYS_28 = 28 * 24 * 60 * 60;

// One client, and so one pool of connections, for the view and the records. It keeps connections alive by default.
const dynamodb = new DynamoDBClient({});
const logger = new Logger({ serviceName: 'order-history' });
const processor = new BatchProcessor(EventType.SQS);
const persistenceStore = new DynamoDBPersistenceLayer({
  tableName: process.env.IDEMPOTENCY_TABLE,
  awsSdkV3Client: dynamodb,
});
const config = new IdempotencyConfig({ eventKeyJmesPath: 'headers.ID', expiresAfterSeconds: DAYS_28 });

export const handler = async (event, context) => {
  logger.addContext(context);
  config.registerLambdaContext(context);
  const response = await processPartialResponse(event, handle, processor, { context });
  logger.info('projected', { messages: event.Records.length, failed: response.batchItemFailures.length });
  return response;
};

const handle = async (record) => {
  try {
    await project(JSON.parse(record.body));
  } catch (error) {
    logger.error('not projected', { message_id: record.messageId, error });
    throw error;
  }
};

const project = makeIdempotent(
  async (message) => {
    const { headers } = message;
    const eventType = last(headers['event-type']).replace(/Event$/, '');
    const eventId = headers.ID;
    const payload = JSON.parse(message.payload);

    const sets = [];
    const conditions = [];
    const names = {};
    const values = { ':eventId': { S: eventId } };
    const stamp = (alias, attribute) => {
      names[alias] = attribute;
      conditions.push(`(attribute_not_exists(${alias}) OR ${alias} < :eventId)`);
      sets.push(`${alias} = :eventId`);
    };

    stamp('#tracking', last(headers['event-aggregate-type']) + headers['event-aggregate-id']);
    for (const [watermark, attributes] of Object.entries(EFFECTS[eventType](headers, payload))) {
      stamp(`#${watermark}`, watermark);
      for (const [name, value] of Object.entries(attributes)) {
        names[`#${name}`] = name;
        values[`:${name}`] = value;
        sets.push(`#${name} = :${name}`);
      }
    }
    names['#timeline'] = 'timeline';
    values[':timeline'] = { SS: [`${eventId} ${eventType}`] };

    await dynamodb.send(
      new UpdateItemCommand({
        TableName: TABLE,
        Key: { orderId: { S: String(payload.orderId ?? headers['event-aggregate-id']) } },
        UpdateExpression: `SET ${sets.join(', ')} ADD #timeline :timeline`,
        ConditionExpression: conditions.join(' AND '),
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: values,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
  },
  { persistenceStore, config },
);

const EFFECTS = {
  OrderCreated: (headers, { orderDetails, deliveryAddress, restaurantName }) => ({
    wd: {
      consumerId: { S: String(orderDetails.consumerId) },
      orderCreationTime: { N: String(millis(headers.ID)) },
      restaurantId: { N: String(orderDetails.restaurantId) },
      restaurantName: { S: restaurantName },
      lineItems: { L: orderDetails.lineItems.map((item) => ({ M: lineItem(item) })) },
      keywords: { SS: keywords([restaurantName, ...orderDetails.lineItems.map(({ name }) => name)]) },
    },
    ws: { status: { S: 'APPROVAL_PENDING' } },
    wt: { orderTotal: { S: orderDetails.orderTotal } },
    wa: { deliveryAddress: { M: texts(deliveryAddress) } },
  }),
  OrderAuthorized: () => ({ ws: { status: { S: 'APPROVED' } } }),
  TicketCreated: () => ({ wk: { ticket: { S: 'AWAITING_ACCEPTANCE' } } }),
  TicketAccepted: (_, { readyBy }) => ({ wk: { ticket: { S: 'ACCEPTED' } }, wr: { readyBy: { S: `${readyBy}.000Z` } } }),
  PaymentIntentCharged: (headers, { amount, currency, chargeId }) => ({
    wp: {
      payment: {
        M: {
          status: { S: 'CHARGED' },
          paymentIntentId: { S: headers['event-aggregate-id'] },
          amount: { N: String(amount) },
          currency: { S: currency },
          chargeId: { S: chargeId },
        },
      },
    },
  }),
};

const last = (name) => name.slice(name.lastIndexOf('.') + 1);
const millis = (eventId) => Number.parseInt(eventId.slice(0, 16), 16);
const texts = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, { S: value }]));
const keywords = (names) => [...new Set(names.join(' ').toLowerCase().match(/[\p{L}\p{N}]+/gu))].sort();
const lineItem = ({ menuItemId, name, price, quantity }) => ({
  menuItemId: { S: menuItemId },
  name: { S: name },
  price: { S: price },
  quantity: { N: String(quantity) },
});
