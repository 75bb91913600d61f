// Lambda's Runtime API for a handler. AWS's own client for Node, aws-lambda-ric, builds a C++ library when it is
// installed, which needs cmake and other tools; this loop does less, and so costs less.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html

import http from 'node:http';

import { handler } from './handler.mjs';

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

for (;;) {
  const { headers, body } = await send('GET', 'next');
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  const requestId = headers['lambda-runtime-aws-request-id'];
  const context = {
    awsRequestId: requestId,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
  try {
    await send('POST', `${requestId}/response`, JSON.stringify(await handler(JSON.parse(body), context)));
  } catch (error) {
    const failure = { errorType: error.name, errorMessage: error.message };
    await send('POST', `${requestId}/error`, JSON.stringify(failure));
  }
}

function send(method, path, body) {
  return new Promise((resolve, reject) => {
    const options = { host, port, agent, method, path: `/2018-06-01/runtime/invocation/${path}` };
    const request = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}
